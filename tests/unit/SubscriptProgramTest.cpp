// Tests the layer below the algebra of index expressions: compiled programs, elements of index operands as symbols,
// affine forms, intervals with open ends. Compares with the tree-walking evaluator and with brute force.
#include "RandomExpr.h"
#include "SubscriptTesting.h"
#include "dialect/Subscript/Arithmetic.h"
#include "dialect/Subscript/Elements.h"
#include "dialect/Subscript/Linear.h"
#include "dialect/Subscript/Program.h"
#include "dialect/Subscript/Survey.h"
#include <gtest/gtest.h>

using namespace skewer::subscript;
using skewer::subscript::testing::describe;
using skewer::subscript::testing::forEachPoint;
using skewer::subscript::testing::RandomExpr;
using skewer::subscript::testing::read;

namespace {
const int64_t kLeast = INT64_MIN, kMost = INT64_MAX;

TEST(Arithmetic, RoundsTowardsMinusInfinity) {
  for (int64_t n : {1, 2, 3, 7})
    for (int64_t a = -20; a <= 20; ++a) {
      int64_t q = floorDivide(a, n), r = floorModulo(a, n);
      EXPECT_EQ(q * n + r, a);
      EXPECT_TRUE(0 <= r && r < n) << a << " mod " << n;
    }
  EXPECT_EQ(floorDivide(kLeast, 2), kLeast / 2);
  EXPECT_EQ(floorModulo(kLeast, kMost), kMost - 1);
}

TEST(Arithmetic, OverflowHasNoValue) {
  EXPECT_FALSE(checkedAdd(kMost, 1));
  EXPECT_FALSE(checkedSubtract(kLeast, 1));
  EXPECT_FALSE(checkedMultiply(kLeast, -1));
  EXPECT_FALSE(apply(Kind::Abs, kLeast));
  EXPECT_FALSE(apply(Kind::FloorDiv, 1, 0));
  EXPECT_FALSE(apply(Kind::Mod, 1, -3));
  EXPECT_EQ(apply(Kind::Abs, kLeast + 1), kMost);
  EXPECT_EQ(apply(Kind::Min, kLeast, kMost), kLeast);
}

TEST(Program, AgreesWithTheTree) {
  RandomExpr random(21);
  for (int round = 0; round < 400; ++round) {
    Expr index = random.index(5), predicate = random.predicate(3);
    Program program({"i", "j", "k"});
    size_t first = program.add(index), second = program.add(predicate);
    for (int n = 0; n < 20; ++n) {
      Assignment at{{"i", random.between(-30, 30)}, {"j", random.between(-30, 30)}, {"k", random.between(-30, 30)}};
      program.run({at["i"], at["j"], at["k"]});
      ASSERT_EQ(program.value(first), evaluate(index, at)) << print(index);
      ASSERT_EQ(program.value(second), evaluate(predicate, at)) << print(predicate);
    }
  }
}

TEST(Program, FailsWhereTheTreeFails) {
  for (const char *text : {"i mod j", "i floordiv (j - i)", "[3, 5, 7][i]", "i*i*i*i", "abs(i)", "n + i", "seg[i] + i",
                           "select(i < 2, [1, 2][i], 9)", "select(i < j, i, seg[i])", "i < 3 and seg[i] == 1",
                           "seg[i] == 1 and i < 3", "i < 3 or seg[i] == 1", "seg[i] == 1 or i < 3"}) {
    Expr e = read(text);
    Program program({"i", "j"});
    size_t place = program.add(e);
    for (int64_t i : {kLeast, int64_t(-1), int64_t(0), int64_t(1), int64_t(2), int64_t(1) << 40})
      for (int64_t j : {int64_t(-2), int64_t(0), int64_t(1), int64_t(3)}) {
        program.run({i, j});
        EXPECT_EQ(program.value(place), evaluate(e, {{"i", i}, {"j", j}})) << text << " at " << i << ", " << j;
      }
  }
}

TEST(Program, EqualExpressionsShareARegister) {
  Program program({"i", "j"});
  size_t first = program.add(read("j - i + 13"));
  EXPECT_EQ(program.add(read("j - i + 13")), first);
  EXPECT_NE(program.add(read("j - i + 12")), first);
}

TEST(Elements, AReadIsASymbolInItsRange) {
  Domain domain{{"i", {0, 3}}, {"b", {0, 1}}, {elementsOf("seg"), {0, 5}}};
  Elements elements(domain);
  Expr e = elements.replace(read("seg[b, i] - seg[b, 0 + i] + other[i]"));
  EXPECT_EQ(symbolsOf(e), (std::set<std::string>{"seg[b, i]", "other[i]"}));
  EXPECT_EQ(elements.domain().at("seg[b, i]"), (Range{0, 5}));
  EXPECT_EQ(elements.domain().count("other[i]"), 0u) << "an operand without a range has elements of any value";
  EXPECT_TRUE(elements.any());
}

TEST(Elements, NothingChangesWithoutReads) {
  Elements elements({{"i", {0, 3}}});
  Expr e = read("clamp(i, 0, 2) + [1, 2, 3, 4][i]");
  EXPECT_EQ(elements.replace(e), e);
  EXPECT_FALSE(elements.any());
}

TEST(Elements, OneElementHasOneValue) {
  Elements elements({{"i", {0, 3}}, {"j", {0, 3}}, {elementsOf("seg"), {0, 1}}});
  elements.replace(read("seg[i] != seg[j]"));
  auto point = [](int64_t i, int64_t j, int64_t ofI, int64_t ofJ) {
    return Assignment{{"i", i}, {"j", j}, {"seg[i]", ofI}, {"seg[j]", ofJ}};
  };
  EXPECT_TRUE(elements.contradicts(point(2, 2, 0, 1)));
  EXPECT_FALSE(elements.contradicts(point(2, 2, 1, 1)));
  EXPECT_FALSE(elements.contradicts(point(1, 2, 0, 1)));
}

TEST(Elements, ReadsWithinSubscripts) {
  Expr e = read("a[b[i] + 1] + i");
  EXPECT_EQ(readsOf(e), (std::set<std::string>{"a", "b"}));
  ASSERT_EQ(readNodes(e).size(), 2u);
  EXPECT_EQ(readNodes(e)[0].name(), "a"); // the outer one first
  EXPECT_EQ(symbolsOutsideReads(e), (std::set<std::string>{"i"}));
  EXPECT_TRUE(symbolsOutsideReads(read("a[b[i] + 1]")).empty());
}

TEST(Linear, CombineIsAddition) {
  RandomExpr random(22);
  auto form = [&] {
    Linear l(random.between(-9, 9));
    for (const char *name : {"i", "j", "k"}) // in order
      if (int64_t coefficient = random.between(-3, 3))
        l.terms.push_back({Expr::symbol(name), coefficient});
    return l;
  };
  for (int round = 0; round < 300; ++round) {
    Linear a = form(), b = form();
    int64_t scale = random.between(-4, 4);
    auto sum = combine(a, b, scale);
    ASSERT_TRUE(sum);
    Assignment at{{"i", random.between(-50, 50)}, {"j", random.between(-50, 50)}, {"k", random.between(-50, 50)}};
    EXPECT_EQ(evaluate(toExpr(*sum), at), *evaluate(toExpr(a), at) + scale * *evaluate(toExpr(b), at));
    for (const Term &term : sum->terms)
      EXPECT_NE(term.coefficient, 0);
    EXPECT_EQ(*combine(*sum, b, -scale), a) << print(toExpr(a));
    EXPECT_EQ(without(a, Expr::symbol("i")).coefficientOf(Expr::symbol("i")), 0);
    auto [positive, negative] = splitSigns(a);
    Linear bare = a;
    bare.constant = 0;
    EXPECT_EQ(*combine(positive, negative, -1), bare);
  }
}

TEST(Linear, RefusesWhatLeaves64Bits) {
  Linear large = Linear::of(Expr::symbol("i"));
  large.terms[0].coefficient = kMost;
  EXPECT_FALSE(combine(large, large));
  EXPECT_FALSE(scaled(large, 2));
  EXPECT_FALSE(combine(Linear(kMost), Linear(1)));
  EXPECT_TRUE(combine(large, large, -1)->isConstant());
}

TEST(Interval, HoldsEverySumAndProduct) {
  std::vector<Interval> all;
  for (int64_t low = -3; low <= 3; ++low)
    for (int64_t high = low; high <= 3; ++high)
      all.push_back({low, high});
  for (const Interval &a : all)
    for (const Interval &b : all) {
      Interval sum = a + b, product = a * b;
      int64_t least = kMost, most = kLeast;
      for (int64_t x = a.low; x <= a.high; ++x)
        for (int64_t y = b.low; y <= b.high; ++y) {
          EXPECT_TRUE(sum.low <= x + y && x + y <= sum.high);
          least = std::min(least, x * y), most = std::max(most, x * y);
        }
      EXPECT_EQ(product.low, least);
      EXPECT_EQ(product.high, most);
    }
}

TEST(Interval, OpenEndsStayOpen) {
  Interval fromZero{0, kMost}, upToOne{kLeast, 1}, number{3, 3};
  EXPECT_EQ((fromZero + number).low, 3);
  EXPECT_EQ((fromZero + number).high, kMost);
  EXPECT_EQ((fromZero * -2).low, kLeast);
  EXPECT_EQ((fromZero * -2).high, 0);
  EXPECT_EQ((upToOne * fromZero).high, kMost);
  EXPECT_EQ((fromZero * Interval{0, 0}).high, 0) << "nothing times 0 is 0";
  EXPECT_TRUE(fromZero.intersect(upToOne).within(0, 1));
  EXPECT_FALSE(fromZero.unite(upToOne).bounded());
  EXPECT_TRUE((Interval{2, 1}).empty());
}

/// Checks the range that a survey of all points reports: its two witnesses must attain it under the guard.
TEST(Survey, FindsTheEndsAndPointsThatAttainThem) {
  RandomExpr random(23);
  int complete = 0;
  for (int round = 0; round < 400; ++round) {
    Domain domain = random.domain();
    Expr e = random.index(3);
    std::optional<Expr> guard;
    if (round % 2)
      guard = random.guard();
    Simplifier simplifier(domain, guard);
    if (simplifier.contradictory())
      continue;
    Survey survey = Surveyor(simplifier, e, domain, guard).all(1 << 16);
    int64_t low = kMost, high = kLeast;
    forEachPoint(domain, [&](const Assignment &at) {
      if (guard && !evaluate(*guard, at).value_or(0))
        return;
      low = std::min(low, *evaluate(e, at)), high = std::max(high, *evaluate(e, at));
    });
    ASSERT_TRUE(survey.complete) << describe(e, domain, guard);
    ASSERT_EQ(survey.any, low <= high) << describe(e, domain, guard);
    if (!survey.any)
      continue;
    ++complete;
    EXPECT_EQ(survey.range.low, low) << describe(e, domain, guard);
    EXPECT_EQ(survey.range.high, high) << describe(e, domain, guard);
    for (const Assignment *witness : {&survey.lowest, &survey.highest}) {
      EXPECT_TRUE(!guard || evaluate(*guard, *witness).value_or(0)) << describe(e, domain, guard);
      EXPECT_EQ(evaluate(e, *witness), witness == &survey.lowest ? low : high) << describe(e, domain, guard);
    }
  }
  EXPECT_GT(complete, 200);
}

TEST(Survey, CandidatesAreOfTheBoxAndOfTheGuard) {
  RandomExpr random(24);
  for (int round = 0; round < 400; ++round) {
    Domain domain = random.domain();
    Expr e = random.index(3), guard = random.guard();
    Simplifier simplifier(domain, guard);
    if (simplifier.contradictory())
      continue;
    Survey survey = Surveyor(simplifier, e, domain, guard).candidates();
    if (!survey.any)
      continue;
    for (const Assignment *witness : {&survey.lowest, &survey.highest}) {
      EXPECT_NE(evaluate(guard, *witness), 0) << describe(e, domain, guard);
      for (const auto &[name, value] : *witness)
        if (domain.count(name))
          EXPECT_TRUE(domain[name].low <= value && value <= domain[name].high) << describe(e, domain, guard);
    }
  }
}

TEST(Survey, TooManyPointsAreNotVisited) {
  Domain domain{{"i", {0, 9999}}, {"j", {0, 9999}}};
  Simplifier simplifier(domain, std::nullopt);
  EXPECT_FALSE(Surveyor(simplifier, read("i*j mod 7"), domain, std::nullopt).all(1000).complete);
}
} // namespace
