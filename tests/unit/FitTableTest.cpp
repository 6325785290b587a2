// Tests the index expressions found for matrices of constant indices, and positions in the axes of a map. An expression
// must have the matrix's values, and the matrices of published code must be found.
#include "passes/Import/FitTable.h"
#include "RandomExpr.h"
#include "SubscriptTesting.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Fusion/Factorise.h"
#include <gtest/gtest.h>

using namespace skewer;
using namespace skewer::subscript;
using skewer::subscript::testing::RandomExpr;
using skewer::subscript::testing::read;

namespace {

/// Returns the values of an expression of i and j, row by row.
std::vector<int64_t> matrixOf(const Expr &e, int64_t queries, int64_t keys) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      values.push_back(evaluate(e, {{"i", i}, {"j", j}}).value_or(INT64_MIN));
  return values;
}

std::string fit(const char *text, int64_t queries, int64_t keys) {
  std::vector<int64_t> values = matrixOf(read(text), queries, keys);
  auto fitted = fitTable(values, {queries, keys}, {"i", "j"});
  if (!fitted)
    return "nothing";
  EXPECT_EQ(matrixOf(*fitted, queries, keys), values) << text << " became " << print(*fitted);
  return print(simplify(*fitted, {{"i", {0, queries - 1}}, {"j", {0, keys - 1}}}));
}

TEST(FitTable, WhatPublishedCodeComputes) {
  EXPECT_EQ(fit("j - i + 6", 7, 7), "j - i + 6");
  EXPECT_EQ(fit("i - j + 9", 4, 7), "i - j + 9");
  EXPECT_EQ(fit("clamp(j - i, -3, 2) + 3", 9, 9), "clamp(j - i, -3, 2) + 3");
  EXPECT_EQ(fit("clamp(i - j, -2, 4) + 2", 9, 9), "2 - clamp(j - i, -4, 2)");
  EXPECT_EQ(fit("3", 4, 5), "3");
  EXPECT_EQ(fit("j", 4, 5), "j");
  EXPECT_EQ(fit("2*i + 3*j", 4, 5), "3*j + 2*i");
  EXPECT_EQ(fit("7*(i floordiv 4 - j floordiv 4 + 2) + i mod 4 - j mod 4 + 3", 12, 12),
            "7*(i floordiv 4) + i mod 4 - 7*(j floordiv 4) - j mod 4 + 17");
}

TEST(FitTable, EveryMatrixThatIsFoundIsTheMatrix) {
  RandomExpr random(31);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    int64_t queries = 1 + random.below(8), keys = 1 + random.below(8);
    Expr e = substitute(random.index(3), {{"k", random.below(2) ? read("j - i") : read("i")}});
    std::vector<int64_t> values = matrixOf(e, queries, keys);
    auto fitted = fitTable(values, {queries, keys}, {"i", "j"});
    found += fitted.has_value();
    if (fitted)
      ASSERT_EQ(matrixOf(*fitted, queries, keys), values) << print(e) << " became " << print(*fitted);
  }
  EXPECT_GT(found, 500);
}

TEST(FitTable, RandomNumbersAreNoExpression) {
  RandomExpr random(32);
  std::vector<int64_t> values(144);
  for (int64_t &value : values)
    value = random.between(0, 50);
  EXPECT_FALSE(fitTable(values, {12, 12}, {"i", "j"}));
  EXPECT_FALSE(fitTable(values, {144}, {"n"}));
}

TEST(FitTable, OneWrongEntryIsNoticed) {
  std::vector<int64_t> right = matrixOf(read("j - i + 6"), 7, 7);
  for (size_t place = 0; place < right.size(); ++place) {
    std::vector<int64_t> wrong = right;
    ++wrong[place];
    if (auto fitted = fitTable(wrong, {7, 7}, {"i", "j"}))
      EXPECT_EQ(matrixOf(*fitted, 7, 7), wrong) << "at " << place << ": " << print(*fitted);
  }
}

TEST(FitTable, FlattenedMatricesAreMatrices) {
  for (int64_t side : {2, 3, 7, 12}) {
    std::vector<int64_t> values = matrixOf(read("clamp(j - i, -2, 2) + 2"), side, side);
    auto fitted = fitTable(values, {side * side}, {"n"});
    ASSERT_TRUE(fitted) << side;
    for (int64_t n = 0; n < side * side; ++n)
      EXPECT_EQ(evaluate(*fitted, {{"n", n}}), values[n]) << print(*fitted);
  }
}

TEST(FitTable, StepsAreFewOrATable) {
  // Reading 64 steps is faster than reading a table of offsets; reading more is not.
  auto bucketed = [](int64_t count, int64_t width) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < count; ++j)
        values.push_back((j - i + count) / width % 5);
    return fitTable(values, {count, count}, {"i", "j"});
  };
  EXPECT_TRUE(bucketed(40, 5));
  EXPECT_FALSE(bucketed(200, 2));
}

TEST(FitTable, ShapesThatDoNotMatchAreRefused) {
  EXPECT_FALSE(fitTable({1, 2, 3}, {2, 2}, {"i", "j"}));
  EXPECT_FALSE(fitTable({1, 2, 3, 4}, {2, 2}, {"i"}));
  EXPECT_FALSE(fitTable({}, {0}, {"i"}));
  EXPECT_TRUE(fitTable({5}, {1, 1}, {"i", "j"}));
  EXPECT_FALSE(fitTable({INT64_MIN, INT64_MAX, INT64_MIN}, {3}, {"i"})) << "a slope beyond 64 bits";
}

TEST(Factorise, MapsThatAllExpressionsAgreeOn) {
  auto factors = [](int64_t size, std::vector<const char *> texts) {
    std::vector<Expr> expressions;
    for (const char *text : texts)
      expressions.push_back(read(text));
    return factorsOf("i", size, expressions);
  };
  using Factors = std::vector<int64_t>;
  EXPECT_EQ(factors(12, {"i + j"}), (Factors{12}));
  EXPECT_EQ(factors(12, {"i floordiv 4", "i mod 4"}), (Factors{3, 4}));
  EXPECT_EQ(factors(24, {"i floordiv 12", "(i floordiv 4) mod 3", "i mod 4"}), (Factors{2, 3, 4}));
  EXPECT_EQ(factors(12, {"i floordiv 4", "i mod 6"}), (Factors{12})) << "rows of 4 and of 6";
  EXPECT_EQ(factors(12, {"i floordiv 5"}), (Factors{12})) << "5 does not divide 12";
  EXPECT_EQ(factors(30, {"i floordiv 5", "i mod 5", "i floordiv 20"}), (Factors{6, 5})) << "blocks of 4 of 6 lines";
  EXPECT_EQ(factors(30, {"i floordiv 20"}), (Factors{30})) << "nothing says how long lines are";
  EXPECT_EQ(factors(12, {"(i + 1) floordiv 4"}), (Factors{12})) << "a class token in front is no map";
  EXPECT_EQ(factors(12, {"j floordiv 4"}), (Factors{12})) << "of another symbol";
  EXPECT_EQ(factors(12, {"i floordiv 12", "i mod 12", "i mod 1"}), (Factors{12})) << "divisions that decide nothing";
}

TEST(Factorise, ThePartsOfAPositionMakeIt) {
  for (const std::vector<int64_t> &divisors : std::vector<std::vector<int64_t>>{{4}, {2, 8}, {3, 6, 24}}) {
    std::vector<Expr> expressions;
    for (int64_t divisor : divisors) {
      expressions.push_back(floorDiv(Expr::symbol("i"), Expr(divisor)));
      expressions.push_back(mod(Expr::symbol("i"), Expr(divisor)));
    }
    int64_t size = divisors.back() * 5, product = 1;
    std::vector<int64_t> factors = factorsOf("i", size, expressions);
    ASSERT_EQ(factors.size(), divisors.size() + 1);
    for (int64_t factor : factors)
      product *= factor;
    EXPECT_EQ(product, size);
  }
}

TEST(Factorise, BlocksOfLinesAreOfTheirNumber) {
  const std::vector<int64_t> factors = {7, 2, 3}; // 7 lines of 2 x 3
  auto lines = [&](const char *text) { return byLines(read(text), "i", factors); };
  EXPECT_EQ(print(lines("i floordiv 24")), "(i floordiv 6) floordiv 4");
  EXPECT_EQ(print(lines("i floordiv 6 + j floordiv 24")), print(read("i floordiv 6 + j floordiv 24")));
  for (const char *text :
       {"i floordiv 24", "i mod 24", "i floordiv 12 + i mod 9", "i mod 15 - i floordiv 3", "i mod 5"})
    for (int64_t i = 0; i < 42; ++i)
      EXPECT_EQ(evaluate(lines(text), {{"i", i}}), evaluate(read(text), {{"i", i}})) << text << " at " << i;
}

TEST(Factorise, NamesOfAxes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(axisNames("j", 1), (Names{"j"}));
  EXPECT_EQ(axisNames("j", 2), (Names{"jy", "jx"}));
  EXPECT_EQ(axisNames("i", 3), (Names{"iz", "iy", "ix"}));
  EXPECT_EQ(axisNames("i", 4), (Names{"i0", "i1", "i2", "i3"}));
}
} // namespace
