// Tests properties of every index expression on seeded random ones, against brute force.
#include "RandomExpr.h"
#include <gtest/gtest.h>

using namespace skewer::subscript;
using skewer::subscript::testing::describe;
using skewer::subscript::testing::forEachPoint;
using skewer::subscript::testing::RandomExpr;

namespace {
constexpr int kRounds = 1500;

bool holds(const std::optional<Expr> &guard, const Assignment &at) {
  return !guard || evaluate(*guard, at).value_or(0) != 0;
}

TEST(SubscriptProperty, ComposeThenEvaluateIsEvaluateThenCompose) {
  RandomExpr random(1);
  for (int round = 0; round < kRounds; ++round) {
    Expr outer = random.index(4);
    Substitution inner{{"i", random.index(2)}, {"j", random.index(2)}};
    Expr composed = substitute(outer, inner), simplified = simplify(composed);
    Assignment at{{"i", random.between(-9, 9)}, {"j", random.between(-9, 9)}, {"k", random.between(-9, 9)}};
    Assignment moved{{"i", *evaluate(inner["i"], at)}, {"j", *evaluate(inner["j"], at)}, {"k", at["k"]}};
    EXPECT_EQ(evaluate(composed, at), evaluate(outer, moved)) << print(outer);
    EXPECT_EQ(evaluate(simplified, at), evaluate(outer, moved)) << print(composed) << " became " << print(simplified);
  }
}

/// Simplifies the expressions of `make`, every second one under a guard, and compares at all points where the guard
/// holds.
static void simplificationKeeps(unsigned seed, Expr (*make)(RandomExpr &)) {
  RandomExpr random(seed);
  for (int round = 0; round < kRounds; ++round) {
    Domain domain = random.domain();
    Expr e = make(random);
    std::optional<Expr> guard;
    if (round % 2)
      guard = random.guard();
    Expr simplified = simplify(e, domain, guard);
    int wrong = 0;
    forEachPoint(domain, [&](const Assignment &at) {
      if (holds(guard, at) && evaluate(e, at) != evaluate(simplified, at))
        ++wrong;
    });
    ASSERT_EQ(wrong, 0) << describe(e, domain, guard) << " became " << print(simplified);
  }
}

TEST(SubscriptProperty, SimplifyPreservesValues) {
  simplificationKeeps(2, [](RandomExpr &random) { return random.index(5); });
}

TEST(SubscriptProperty, SimplifyPreservesPredicates) {
  simplificationKeeps(3, [](RandomExpr &random) { return random.predicate(4); });
}

TEST(SubscriptProperty, SimplifyOfSimplifiedKeepsValues) {
  RandomExpr random(4);
  int changed = 0;
  for (int round = 0; round < kRounds; ++round) {
    Domain domain = random.domain();
    Expr once = simplify(random.index(4), domain), twice = simplify(once, domain);
    changed += once != twice;
    forEachPoint(domain,
                 [&](const Assignment &at) { ASSERT_EQ(evaluate(once, at), evaluate(twice, at)) << print(once); });
  }
  EXPECT_LT(changed, kRounds / 50); // a fixed point but for rare second chances
}

TEST(SubscriptProperty, ParseOfPrintIsTheSame) {
  RandomExpr random(5);
  for (int round = 0; round < kRounds; ++round) {
    Expr e = round % 3 ? random.index(5) : random.predicate(4);
    auto again = parse(print(e));
    ASSERT_TRUE(again) << print(e) << ": " << again.error().message;
    for (int k = 0; k < 5; ++k) {
      Assignment at{{"i", random.between(-9, 9)}, {"j", random.between(-9, 9)}, {"k", random.between(-9, 9)}};
      ASSERT_EQ(evaluate(*again, at), evaluate(e, at)) << print(e) << " read as " << print(*again);
    }
    EXPECT_EQ(print(simplify(*again)), print(simplify(e))) << print(e);
  }
}

TEST(SubscriptProperty, BoundsContainAndWhereExactEqualBruteForce) {
  RandomExpr random(6);
  int exact = 0;
  for (int round = 0; round < kRounds; ++round) {
    Domain domain = random.domain();
    Expr e = random.index(4);
    std::optional<Expr> guard;
    if (round % 2)
      guard = random.guard();
    int64_t low = INT64_MAX, high = INT64_MIN;
    forEachPoint(domain, [&](const Assignment &at) {
      if (!holds(guard, at))
        return;
      low = std::min(low, *evaluate(e, at));
      high = std::max(high, *evaluate(e, at));
    });
    for (int64_t limit : {int64_t(0), int64_t(1) << 20}) {
      bool empty = false;
      auto bounds = bound(e, domain, guard, limit, &empty);
      if (low > high) {
        EXPECT_TRUE(limit == 0 || empty) << describe(e, domain, guard);
        continue;
      }
      ASSERT_FALSE(empty) << describe(e, domain, guard);
      ASSERT_TRUE(bounds) << describe(e, domain, guard);
      ASSERT_LE(bounds->range.low, low) << describe(e, domain, guard);
      ASSERT_GE(bounds->range.high, high) << describe(e, domain, guard);
      if (bounds->exact) {
        exact += limit == 0;
        ASSERT_EQ(bounds->range, (Range{low, high})) << describe(e, domain, guard);
      }
      if (limit)
        EXPECT_TRUE(bounds->exact) << describe(e, domain, guard);
    }
  }
  EXPECT_GT(exact, kRounds / 2); // half need no enumeration
}

TEST(SubscriptProperty, ProofsAgreeWithBruteForce) {
  RandomExpr random(7);
  int refuted = 0, proven = 0;
  for (int round = 0; round < kRounds; ++round) {
    Domain domain = random.domain();
    Expr e = random.index(3);
    std::optional<Expr> guard;
    if (round % 2)
      guard = random.guard();
    Range wanted{random.between(-30, 0), random.between(0, 60)};
    bool inside = true;
    forEachPoint(domain, [&](const Assignment &at) {
      int64_t v = *evaluate(e, at);
      inside &= !holds(guard, at) || (v >= wanted.low && v <= wanted.high);
    });
    Proof proof = proveWithin(e, wanted, domain, guard);
    ASSERT_EQ(proof.outcome, inside ? Proof::Proven : Proof::Refuted) << describe(e, domain, guard);
    if (inside) {
      ++proven;
      continue;
    }
    ++refuted;
    EXPECT_TRUE(holds(guard, proof.counterexample)) << describe(e, domain, guard);
    EXPECT_EQ(evaluate(e, proof.counterexample), proof.value) << describe(e, domain, guard);
    EXPECT_TRUE(proof.value < wanted.low || proof.value > wanted.high);
    for (const auto &[name, value] : proof.counterexample) {
      EXPECT_GE(value, domain[name].low);
      EXPECT_LE(value, domain[name].high);
    }
  }
  EXPECT_GT(refuted, 50);
  EXPECT_GT(proven, 50);
}

// Large boxes are visited by difference if only the difference matters: T5's buckets, clipped offsets, bands.
TEST(SubscriptProperty, FunctionsOfTheOffsetAreBoundedExactly) {
  RandomExpr random(10);
  for (int round = 0; round < 60; ++round) {
    Domain domain{{"i", {random.between(-3, 3), 70}}, {"j", {0, 70 + random.below(30)}}};
    Expr offset = Expr::symbol("j") - Expr::symbol("i");
    Substitution toOffset{{"i", offset}, {"j", offset}, {"k", offset}};
    Expr e = substitute(random.index(3), toOffset);
    std::optional<Expr> guard;
    if (round % 2)
      guard = substitute(random.predicate(2), toOffset);
    int64_t low = INT64_MAX, high = INT64_MIN;
    forEachPoint(domain, [&](const Assignment &at) {
      if (!holds(guard, at))
        return;
      low = std::min(low, *evaluate(e, at));
      high = std::max(high, *evaluate(e, at));
    });
    bool empty = false;
    auto bounds = bound(e, domain, guard, 200, &empty); // far fewer than the box has points
    ASSERT_EQ(empty, low > high) << describe(e, domain, guard);
    if (empty)
      continue;
    ASSERT_TRUE(bounds && bounds->exact) << describe(e, domain, guard);
    ASSERT_EQ(bounds->range, (Range{low, high})) << describe(e, domain, guard);
    Proof proof = proveWithin(e, {low, high - 1}, domain, guard);
    ASSERT_EQ(proof.outcome, Proof::Refuted) << describe(e, domain, guard);
    EXPECT_EQ(proof.value, high);
    EXPECT_EQ(evaluate(e, proof.counterexample), high);
    EXPECT_TRUE(holds(guard, proof.counterexample));
  }
}

TEST(SubscriptProperty, OffsetIntervalsEqualBruteForce) {
  RandomExpr random(9);
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    Domain domain = random.domain();
    domain.erase("k");
    Expr predicate = substitute(random.guard(), {{"k", Expr::symbol("i")}});
    auto interval = asOffsetInterval(predicate, "i", "j", domain);
    if (!interval)
      continue;
    ++found;
    forEachPoint(domain, [&](const Assignment &at) {
      int64_t offset = at.at("j") - at.at("i");
      bool inside = interval->low <= offset && offset <= interval->high;
      ASSERT_EQ(holds(predicate, at), inside) << describe(predicate, domain);
    });
  }
  EXPECT_GT(found, kRounds / 2);
}
} // namespace
