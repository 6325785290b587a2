// Tests bounds, proofs, affine forms and offsets at the sizes of models.
#include "dialect/Subscript/Checks.h"
#include "dialect/Subscript/Project.h"
#include "tests/unit/SubscriptTesting.h"
#include <chrono>
#include <gtest/gtest.h>

using namespace skewer::subscript;
using skewer::subscript::testing::read;
using skewer::subscript::testing::square;

namespace {
constexpr int64_t kOpenLow = INT64_MIN, kOpenHigh = INT64_MAX;

TEST(SubscriptBound, ExactWithoutVisitingEveryPoint) {
  struct Case {
    const char *expression, *guard;
    Range expected;
  };
  int64_t n = 1 << 20; // n*n points are out of reach
  for (const Case &c : std::vector<Case>{{"j - i", nullptr, {1 - n, n - 1}},
                                         {"j - i", "j <= i", {1 - n, 0}},
                                         {"j - i + 7", "abs(i - j) <= 4", {3, 11}},
                                         {"j - i", "j <= i and i - j < 100", {-99, 0}},
                                         {"clamp(j - i, -64, 8) + 64", nullptr, {0, 72}},
                                         {"clamp(j - i, -64, 8) + 64", "j <= i", {0, 64}},
                                         {"abs(i - j)", nullptr, {0, n - 1}},
                                         {"i floordiv 1024", nullptr, {0, 1023}},
                                         {"i - j", "i == j + 3", {3, 3}}}) {
    auto bounds = bound(read(c.expression), square(n), c.guard ? std::optional<Expr>(read(c.guard)) : std::nullopt);
    ASSERT_TRUE(bounds) << c.expression;
    EXPECT_EQ(bounds->range, c.expected) << c.expression << ": " << bounds->range.low << ", " << bounds->range.high;
    EXPECT_TRUE(bounds->exact) << c.expression;
  }
}

TEST(SubscriptBound, NothingWhereNothingIsKnown) {
  EXPECT_FALSE(bound(read("j - n"), square(14)));
  EXPECT_TRUE(bound(read("j + n - n"), square(14)));
  EXPECT_FALSE(bound(read("seg[i]"), square(14)));
  auto modulo = bound(read("n mod 14"), {});
  ASSERT_TRUE(modulo);
  EXPECT_EQ(modulo->range, (Range{0, 13}));
  auto clamped = bound(read("clamp(seg[i], 0, 3)"), square(14));
  ASSERT_TRUE(clamped);
  EXPECT_EQ(clamped->range, (Range{0, 3}));
  EXPECT_FALSE(clamped->exact);
}

TEST(SubscriptBound, EmptyDomains) {
  bool empty = false;
  EXPECT_FALSE(bound(read("i"), square(14), read("i > 20"), 1 << 20, &empty));
  EXPECT_TRUE(empty);
  EXPECT_FALSE(bound(read("i"), square(14), read("i mod 2 == 1 and i mod 4 == 2"), 1 << 20, &empty));
  EXPECT_TRUE(empty);
  EXPECT_FALSE(bound(read("i"), square(14), read("j mod 3 == 5"), 1 << 20, &empty));
  EXPECT_TRUE(empty);
  EXPECT_FALSE(bound(read("i"), {{"i", {0, -1}}}, std::nullopt, 1 << 20, &empty));
  EXPECT_TRUE(empty);
  EXPECT_TRUE(bound(read("i"), square(14), read("j == 5"), 1 << 20, &empty));
  EXPECT_FALSE(empty);
}

TEST(SubscriptProof, NamesThePointThatReadsOutsideTheTable) {
  Domain map{{"iy", {0, 13}}, {"jy", {0, 13}}};
  Proof wrong = proveWithin(read("jy - iy + 14"), {0, 26}, map);
  EXPECT_EQ(wrong.outcome, Proof::Refuted);
  EXPECT_EQ(wrong.value, 27);
  EXPECT_EQ(wrong.counterexample, (Assignment{{"iy", 0}, {"jy", 13}}));
  ASSERT_TRUE(wrong.range);
  EXPECT_EQ(*wrong.range, (Range{1, 27}));
  EXPECT_EQ(proveWithin(read("jy - iy + 13"), {0, 26}, map).outcome, Proof::Proven);
}

TEST(SubscriptProof, UnderAGuard) {
  for (int64_t n : {2, 2048, 1 << 20}) {
    Expr row = read("j - i") + Expr(n - 1);
    EXPECT_EQ(proveWithin(row, {0, n - 1}, square(n), read("j <= i")).outcome, Proof::Proven);
    Proof open = proveWithin(row, {0, n - 1}, square(n));
    EXPECT_EQ(open.outcome, Proof::Refuted);
    EXPECT_EQ(open.value, 2 * n - 2);
  }
  EXPECT_EQ(proveWithin(read("j - i + 4"), {0, 8}, square(4096), read("abs(i - j) <= 4")).outcome, Proof::Proven);
  Proof band = proveWithin(read("j - i + 4"), {0, 7}, square(4096), read("abs(i - j) <= 4"));
  EXPECT_EQ(band.outcome, Proof::Refuted);
  EXPECT_EQ(band.value, 8);
  EXPECT_EQ(band.counterexample.at("j") - band.counterexample.at("i"), 4);
  EXPECT_EQ(proveWithin(read("i"), {0, 1}, square(4), read("i > 5")).outcome, Proof::Proven); // of no point
}

TEST(SubscriptProof, TheGuardsOtherSymbolsAreInTheCounterexample) {
  Proof proof =
      proveWithin(read("i"), {0, 2}, {{"i", {0, 9}}, {"j", {0, 9}}, {"k", {3, 9}}}, read("j mod 4 == 3 and k != i"));
  ASSERT_EQ(proof.outcome, Proof::Refuted);
  EXPECT_EQ(evaluate(read("j mod 4 == 3 and k != i"), proof.counterexample), 1);
}

TEST(SubscriptProof, ElementsOfIndexOperandsAreUnknown) {
  EXPECT_EQ(proveWithin(read("seg[i]"), {0, 1}, square(14)).outcome, Proof::Unknown);
  EXPECT_EQ(proveWithin(read("clamp(seg[i], 0, 1)"), {0, 1}, square(14)).outcome, Proof::Proven);
  EXPECT_EQ(proveWithin(read("select(seg[i] != seg[j], 1, 0)"), {0, 1}, square(14)).outcome, Proof::Proven);
  EXPECT_EQ(proveWithin(read("j - i + n"), {0, 1}, square(14)).outcome, Proof::Unknown);
  // An element without a range may be anything, 3 too.
  Proof proof = proveWithin(read("i"), {0, 5}, square(14), read("seg[i] == 3"));
  ASSERT_EQ(proof.outcome, Proof::Refuted);
  EXPECT_EQ(proof.counterexample.at("seg[i]"), 3);
}

TEST(SubscriptProof, AConditionOnANumberWithoutBoundsIsLeftOut) {
  // abs(j - i) as a sum of steps, for two tokens, where keys end at a length of which nothing is known.
  Expr steps = read("(i < j) - (i <= j) + 1"), padded = read("j < length"), band = read("j < length and i == j");
  EXPECT_EQ(proveWithin(steps, {0, 1}, square(2), padded).outcome, Proof::Proven);
  auto bounds = bound(steps, square(2), padded);
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->range, (Range{0, 1}));
  EXPECT_FALSE(bounds->exact) << "no length may leave a key with i != j";
  EXPECT_EQ(proveWithin(steps, {0, 0}, square(2), band).outcome, Proof::Proven) << "the rest of the guard still holds";
  // A key outside is masked away where the length is small enough.
  EXPECT_EQ(proveWithin(read("j"), {0, 0}, square(2), padded).outcome, Proof::Unknown);
}

TEST(SubscriptProof, RationalRowsOfMViT) {
  // floor(iy*a - jy*b + (kh-1)*b) with q 56 and k 14: a = 1, b = 4
  Domain map{{"iy", {0, 55}}, {"jy", {0, 13}}};
  EXPECT_EQ(proveWithin(read("iy - 4*jy + 52"), {0, 107}, map).outcome, Proof::Proven);
  auto bounds = bound(read("(3*iy - 7*jy + 91) floordiv 7"), map);
  ASSERT_TRUE(bounds);
  EXPECT_TRUE(bounds->exact);
  EXPECT_EQ(bounds->range, (Range{0, 36}));
}

TEST(SubscriptAffine, Forms) {
  auto skew = asAffine(read("(27*i + j + 13) mod 28"), square(14));
  ASSERT_TRUE(skew);
  EXPECT_EQ(skew->coefficients, (std::map<std::string, int64_t>{{"i", -1}, {"j", 1}}));
  EXPECT_EQ(skew->constant, 13);
  EXPECT_FALSE(asAffine(read("i mod 3"), square(14)));
  EXPECT_FALSE(asAffine(read("i*j")));
  EXPECT_TRUE(asAffine(read("i*j - j*i + 4"))->coefficients.empty());
}

TEST(SubscriptOffset, Recognised) {
  std::set<std::string> query{"i", "iy", "ix"}, key{"j", "jy", "jx"};
  auto offset = asOffset(read("jy - iy + 13"), query, key);
  ASSERT_TRUE(offset);
  EXPECT_EQ(offset->query, "iy");
  EXPECT_EQ(offset->key, "jy");
  EXPECT_EQ(offset->sign, 1);
  EXPECT_EQ(offset->constant, 13);
  auto mirrored = asOffset(read("13 + i - j"), query, key);
  ASSERT_TRUE(mirrored);
  EXPECT_EQ(mirrored->sign, -1);
  EXPECT_TRUE(asOffset(read("(27*i + j + 13) mod 28"), query, key, square(14)));
  for (const char *no : {"j", "i", "j + i", "2*j - 2*i", "j - i + k", "j - jx", "i - iy", "clamp(j - i, -4, 4)", "3"})
    EXPECT_FALSE(asOffset(read(no), query, key)) << no;
}

TEST(SubscriptOffset, Dependence) {
  std::set<std::string> query{"i"}, key{"j"};
  auto of = [&](const char *text) {
    Dependence d = dependence(read(text), query, key);
    return std::string(d.query ? "query " : "") + (d.key ? "key" : "");
  };
  EXPECT_EQ(of("j - i"), "query key");
  EXPECT_EQ(of("i + j - j"), "query ");
  EXPECT_EQ(of("T[j]"), "key");
  EXPECT_EQ(of("k + 3"), "");
}

TEST(SubscriptOffsetInterval, Masks) {
  struct Case {
    const char *predicate;
    std::optional<Range> expected;
  };
  for (const Case &c : std::vector<Case>{{"j <= i", Range{kOpenLow, 0}},
                                         {"abs(i - j) <= 4", Range{-4, 4}},
                                         {"abs(i - j) < 4", Range{-3, 3}},
                                         {"j <= i + 128", Range{kOpenLow, 128}},
                                         {"j <= i and i - j < 4096", Range{-4095, 0}},
                                         {"not (j <= i)", Range{1, kOpenHigh}},
                                         {"i == j", Range{0, 0}},
                                         {"j <= i or j <= i + 5", Range{kOpenLow, 5}},
                                         {"max(i - j, j - i) <= 3", Range{-3, 3}},
                                         {"2*j <= 2*i + 5", Range{kOpenLow, 2}},
                                         {"j <= i and j > i", Range{}},
                                         {"1 == 1", Range{kOpenLow, kOpenHigh}},
                                         {"j < 7", std::nullopt},
                                         {"i != j", std::nullopt},
                                         {"j <= 2*i", std::nullopt},
                                         {"seg[i] == seg[j]", std::nullopt}}) {
    auto interval = asOffsetInterval(read(c.predicate), "i", "j");
    ASSERT_EQ(interval.has_value(), c.expected.has_value()) << c.predicate;
    if (interval)
      EXPECT_EQ(*interval, *c.expected) << c.predicate << ": " << interval->low << ", " << interval->high;
  }
  // A predicate of the offset that is no half line, asked at every offset of the box.
  auto bucket = asOffsetInterval(read("(j - i + 100) floordiv 8 == 12"), "i", "j", square(50));
  ASSERT_TRUE(bucket);
  EXPECT_EQ(*bucket, (Range{-4, 3}));
}

TEST(SubscriptOverflow, IsFoundWhereItBegins) {
  Domain domain{{"i", {0, 3}}, {"j", {-3, 3}}, {elementsOf("seg"), {0, 9}}};
  auto overflow = [&](const char *text) {
    auto part = findOverflow(read(text), domain);
    return part ? print(*part) : "";
  };
  EXPECT_EQ(overflow("i * 3074457345618258602"), "");
  EXPECT_EQ(overflow("i * 3074457345618258603 + 1"), "i*3074457345618258603");
  EXPECT_EQ(overflow("j * 3074457345618258602 - 3"), "j*3074457345618258602 - 3");
  EXPECT_EQ(overflow("abs(j * 3074457345618258602 - 2)"), "abs(j*3074457345618258602 - 2)");
  EXPECT_EQ(overflow("(i * 4611686018427387904) mod 3"), "i*4611686018427387904");
  EXPECT_EQ(overflow("i mod 4611686018427387904 * 4611686018427387904"),
            "i mod 4611686018427387904*4611686018427387904");
  EXPECT_EQ(overflow("(i + 4611686018427387904) floordiv 4611686018427387904 * 4611686018427387903"), "");
  EXPECT_EQ(overflow("min(i, 1) * 4611686018427387904"), "");
  EXPECT_EQ(overflow("select(j > 0, 1, 3) * 4611686018427387904"), "select(0 < j, 1, 3)*4611686018427387904");
  EXPECT_EQ(overflow("(j < 0) * 4611686018427387904"), "");
  EXPECT_EQ(overflow("[1, 3][i] * 4611686018427387904"), "[1, 3][i]*4611686018427387904");
  EXPECT_EQ(overflow("seg[i] * 922337203685477580"), "");
  EXPECT_EQ(overflow("doc[i] * 4294967296"), "");
  EXPECT_EQ(overflow("doc[i] * 4294967297"), "doc[i]*4294967297");
  EXPECT_EQ(overflow("b * 4294967298"), "");
  EXPECT_EQ(overflow("b * 4294967299"), "b*4294967299");
}

TEST(SubscriptOverflow, SharedGraphsAreVisitedOnce) {
  Expr sum = read("i");
  for (int k = 0; k < 100; ++k)
    sum = sum + sum;
  EXPECT_TRUE(findOverflow(sum, {{"i", {0, 1}}}));
  EXPECT_FALSE(findOverflow(sum, {{"i", {0, 0}}}));
}

TEST(SubscriptTable, LeftWhereItMatters) {
  Domain domain = square(4);
  auto outside = [&](const char *text, const char *where = nullptr) {
    auto bad = findTableOutside(read(text), domain, where ? std::optional<Expr>(read(where)) : std::nullopt);
    return bad ? print(bad->table) : "";
  };
  EXPECT_EQ(outside("[0, 2, 1][j]"), "[0, 2, 1][j]");
  EXPECT_EQ(outside("[0, 2, 1, 3][j]"), "");
  EXPECT_EQ(outside("[0, 2, 1][j]", "j <= 2"), "");
  EXPECT_EQ(outside("[0, 2, 1][j]", "i <= 2"), "[0, 2, 1][j]");
  EXPECT_EQ(outside("j < 3 and [0, 2, 1][j] == 1"), "");
  EXPECT_EQ(outside("[0, 2, 1][j] == 1 and j < 3"), "");
  EXPECT_EQ(outside("j < 3 or [0, 2, 1][j] == 1"), "[0, 2, 1][j]");
  EXPECT_EQ(outside("[0, 2, 1][j] == 1 or j >= 3"), "");
  EXPECT_EQ(outside("not (j < 3 and [0, 2, 1][j] == 1)"), "");
  // The second may rely on the first, not the first on it.
  EXPECT_EQ(outside("[3, 2, 1, 9][j] < 3 and [1, 2, 3][[3, 2, 1, 9][j]] == 1"), "");
  EXPECT_EQ(outside("[1, 2, 3][[3, 2, 1, 9][j]] == 1 and [3, 2, 1, 9][j] < 3"), "[1..3][[3..1, 9][j]]");
  EXPECT_EQ(outside("select(j < 3, [0, 2, 1][j], 7)"), "");
  EXPECT_EQ(outside("select(j < 3, 7, [0, 2, 1][j])"), "[0, 2, 1][j]");
  EXPECT_EQ(outside("select([0, 2, 1][j] == 1, 7, 8)"), "[0, 2, 1][j]");
  EXPECT_EQ(outside("select(j < 3, [0, 2, 1][j], 7) + [0, 2, 1][j]"), "[0, 2, 1][j]");
  EXPECT_EQ(outside("[0, 2, 1][seg[j]]"), "[0, 2, 1][seg[j]]");
  EXPECT_EQ(outside("seg[j] >= 0 and seg[j] < 3 and [0, 2, 1][seg[j]] == 1"), "");
  auto bad = findTableOutside(read("[0, 2, 1][j - i]"), domain);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->proof.outcome, Proof::Refuted);
  EXPECT_EQ(bad->proof.value, -3);
  EXPECT_EQ(bad->proof.counterexample, (Assignment{{"i", 3}, {"j", 0}}));
}

TEST(SubscriptSpeed, ManyTokensStayFast) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t n : {2048, 4096, 131072})
    for (const char *guard : {"j <= i", "abs(i - j) <= 128", "j <= i and i - j < 512"}) {
      Expr flat = read("i + 1") * Expr(n) + read("j");
      simplify(floorDiv(flat, Expr(n + 1)), square(n), read(guard));
      proveWithin(read("j - i") + Expr(n - 1), {0, 2 * n - 2}, square(n), read(guard));
      bound(read("j - i"), square(n), read(guard));
    }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 1.0);
}

TEST(SubscriptProject, WhatIsLeftWithoutSomeSymbols) {
  struct Case {
    const char *predicate, *expected;
  };
  std::set<std::string> symbols = {"ix", "jx", "b"};
  Domain domain = {{"iy", {0, 13}}, {"jy", {0, 13}}, {"ix", {0, 13}}, {"jx", {0, 13}}, {elementsOf("len"), {1, 9}}};
  for (const Case &c : std::vector<Case>{{"abs(jy - iy) <= 2 and abs(jx - ix) <= 2", "abs(jy - iy) <= 2"},
                                         {"14*jy + jx <= 14*iy + ix", "14*jy - 14*iy <= 13"}, // jx = 0, ix = 13
                                         {"not (jy > iy or jx > ix)", "jy <= iy"},
                                         {"jy <= iy or jx <= ix", "1"},
                                         {"jy <= iy or (jy <= iy + 2 and jx == 3)", "jy <= iy + 2"},
                                         {"jy == ix + 3", "jy >= 3"},
                                         {"jy != ix", "1"},
                                         {"abs(jy - iy) + jx <= 3", "abs(jy - iy) <= 3"},
                                         {"jy < len[b]", "jy < 9"},
                                         {"jy <= iy + unknown*b", "1"}}) {
    Expr projected = projectOut(read(c.predicate), symbols, domain);
    EXPECT_EQ(print(projected), print(simplify(read(c.expected), domain))) << c.predicate;
  }
}

// It holds wherever the predicate holds for some value of the symbols that are left out.
TEST(SubscriptProject, HoldsWhereThePredicateDoes) {
  Domain domain = {{"i", {0, 4}}, {"j", {0, 4}}, {"x", {0, 4}}, {"y", {-1, 3}}};
  for (const char *text : {"abs(j - i) + x <= 3 and not (y == i or x < j)", "5*i + x <= 5*j + y", "abs(x - i) <= 1",
                           "(x + i) mod 3 == j or (x*y <= i and j > 2)", "select(x < 2, i, j) <= y",
                           "min(i, x) == max(j, y)", "not abs(x - j) <= 1", "i - abs(x) <= -3"}) {
    Expr predicate = read(text), projected = projectOut(predicate, {"x", "y"}, domain);
    EXPECT_FALSE(symbolsOf(projected).count("x") || symbolsOf(projected).count("y")) << text;
    for (int64_t i = 0; i <= 4; ++i)
      for (int64_t j = 0; j <= 4; ++j)
        for (int64_t x = 0; x <= 4; ++x)
          for (int64_t y = -1; y <= 3; ++y)
            if (evaluate(predicate, {{"i", i}, {"j", j}, {"x", x}, {"y", y}}).value_or(0))
              ASSERT_TRUE(evaluate(projected, {{"i", i}, {"j", j}}).value_or(0)) << text << " at " << i << ", " << j;
  }
}

// Halos around blocks of a map, over flat positions as in a mask of a softmax: conditions on columns do not matter for
// rows, and both together are too many points to visit.
TEST(SubscriptProof, OneAxisOfAMapBesideTheOther) {
  for (int64_t n : {32, 64, 96}) {
    auto axis = [&](const std::string &name) {
      auto floor = [&](const char *flat) { return read("(" + std::string(flat) + name + std::to_string(n) + ")"); };
      Expr query = floorDiv(floor("d2"), Expr(8)) * Expr(8), key = floor("d3");
      return logicalAnd(lessEqual(query - Expr(3), key), less(key, query + Expr(11)));
    };
    Domain positions{{"d2", {0, n * n - 1}}, {"d3", {0, n * n - 1}}};
    Expr flat = simplify(logicalAnd(axis(" floordiv "), axis(" mod ")), positions);
    Domain map{{"iy", {0, n - 1}}, {"ix", {0, n - 1}}, {"jy", {0, n - 1}}, {"jx", {0, n - 1}}};
    auto flatOf = [&](const char *y, const char *x) { return Expr(n) * Expr::symbol(y) + Expr::symbol(x); };
    Expr mask = simplify(substitute(flat, {{"d2", flatOf("iy", "ix")}, {"d3", flatOf("jy", "jx")}}), map);
    for (const char *difference : {"jy - iy + 10", "jx - ix + 10"}) {
      EXPECT_EQ(proveWithin(read(difference), {0, 20}, map, mask).outcome, Proof::Proven) << difference << " of " << n;
      EXPECT_EQ(proveWithin(read(difference), {0, 19}, map, mask).outcome, Proof::Refuted) << difference << " of " << n;
    }
  }
}

// A stronger guard must prove at least as much: its conditions on other symbols would make too many points to visit.
TEST(SubscriptProof, StrongerGuardsProveNoLess) {
  Domain domain;
  for (const char *name : {"iy", "ix", "jy", "jx"})
    domain[name] = {0, 199};
  Expr index = read("(jy - iy)*(jy - iy) + 1");
  for (const char *guard : {"abs(jy - iy) <= 2", "abs(jy - iy) <= 2 and 200*jy + jx <= 200*iy + ix"})
    EXPECT_EQ(proveWithin(index, {1, 5}, domain, read(guard)).outcome, Proof::Proven) << guard;
}

// Positions of a map whose height and width are not known: quotients, remainders and products of them.
TEST(SubscriptProof, MapsOfUnknownSizes) {
  Domain domain{{"i", {0, 9999}}, {"j", {0, 9999}}, {"y", {0, 99}}, {"x", {0, 99}}};
  for (const char *size : {"H", "W"})
    domain[size] = {1, 100};
  const char *inside = "i < H*W and j < H*W and y < H and x < W";
  struct {
    const char *index, *size;
  } cases[] = {
      {"j floordiv W - i floordiv W + H - 1", "2*H - 1"},
      {"i mod W - j mod W + W - 1", "2*W - 1"},
      {"y*W + x", "H*W"},
      {"W*abs(i floordiv W - j floordiv W) + abs(i mod W - j mod W)", "H*W"},
      {"(y + H - 1)*(2*W - 1) + x + W - 1", "(2*H - 1)*(2*W - 1)"},
  };
  for (auto [index, size] : cases) {
    std::string last = std::string(size) + " - 1 - (" + index + ")";
    EXPECT_EQ(proveWithin(read(index), {0, 1 << 30}, domain, read(inside)).outcome, Proof::Proven) << index;
    EXPECT_EQ(proveWithin(read(last.c_str()), {0, 1 << 30}, domain, read(inside)).outcome, Proof::Proven) << index;
    EXPECT_NE(proveWithin(read((last + " - 1").c_str()), {0, 1 << 30}, domain, read(inside)).outcome, Proof::Proven)
        << index;
  }
}
} // namespace
