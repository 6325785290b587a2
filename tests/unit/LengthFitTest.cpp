// Tests the fit of a layer's dependence on its lengths, from numbers and index expressions at a few lengths.
#include "dialect/Subscript/Analysis.h"
#include "passes/Lengths/ExpressionFit.h"
#include <gtest/gtest.h>

using namespace skewer;
using subscript::Expr;

namespace {

const Lengths kTwo = {{"H", 20}, {"W", 30}};

std::vector<int64_t> valuesOf(const Lengths &bounds, const std::function<int64_t(const Lengths &)> &number) {
  std::vector<int64_t> values;
  for (const Lengths &point : fittingPoints(bounds))
    values.push_back(number(point));
  return values;
}

/// Returns the fit of texts in which `number` of the lengths stands for `?`.
std::optional<Expr> fitted(const std::string &text, const std::function<int64_t(int64_t)> &number) {
  const Lengths bounds = {{"N", 100}};
  std::vector<Expr> expressions;
  for (const Lengths &point : fittingPoints(bounds)) {
    std::string own = text;
    own.replace(own.find('?'), 1, std::to_string(number(point.at("N"))));
    expressions.push_back(*subscript::parse(own));
  }
  return fitExpressions(expressions, bounds);
}

} // namespace

TEST(LengthPolynomial, SumsOfProductsAreFound) {
  struct {
    std::function<int64_t(const Lengths &)> number;
    const char *text;
  } cases[] = {
      {[](const Lengths &l) { return 2 * l.at("H") - 1; }, "2*H - 1"},
      {[](const Lengths &l) { return l.at("H") * l.at("W"); }, "H*W"},
      {[](const Lengths &l) { return l.at("W") * (l.at("H") + 3) + 7; }, "H*W + 3*W + 7"},
      {[](const Lengths &l) { return 5 - l.at("W"); }, "-1*W + 5"},
      {[](const Lengths &) { return 12; }, "12"},
  };
  for (const auto &[number, text] : cases) {
    auto found = LengthPolynomial::through(valuesOf(kTwo, number), kTwo);
    ASSERT_TRUE(found) << text;
    Expr expected = *subscript::parse(text);
    EXPECT_TRUE(subscript::simplify(found->expression() - expected).isConstant(0))
        << subscript::print(found->expression()) << " is not " << text;
    for (const Lengths &point : std::vector<Lengths>{{{"H", 1}, {"W", 1}}, {{"H", 20}, {"W", 7}}})
      EXPECT_EQ(subscript::evaluate(found->expression(), point), number(point)) << text;
  }
}

TEST(LengthPolynomial, WhatIsNoneIsNotGuessed) {
  EXPECT_FALSE(LengthPolynomial::through(valuesOf(kTwo, [](const Lengths &l) { return l.at("H") * l.at("H"); }), kTwo));
  EXPECT_FALSE(LengthPolynomial::through(valuesOf(kTwo, [](const Lengths &l) { return l.at("W") / 7; }), kTwo));
}

TEST(ExpressionFit, NumbersBecomeLengths) {
  auto found = fitted("j - i + ?", [](int64_t n) { return n - 1; });
  ASSERT_TRUE(found);
  EXPECT_EQ(subscript::evaluate(*found, {{"i", 5}, {"j", 2}},
                                [](const std::string &, const std::vector<int64_t> &) { return 9; }),
            5);
  EXPECT_FALSE(fitted("j - i + ?", [](int64_t n) { return n * n; }));
  EXPECT_FALSE(subscript::readNodes(*fitted("min(i, 3) + ?", [](int64_t n) { return 2 * n; })).empty());
}

TEST(ExpressionFit, TablesOverPositionsAreTheLongest) {
  auto tableOf = [](int64_t n) { // clip(j - i, -3, 3) as a table over all offsets
    std::vector<int64_t> rows;
    for (int64_t offset = 1 - n; offset < n; ++offset)
      rows.push_back(std::clamp<int64_t>(offset, -3, 3));
    return Expr::table(std::make_shared<const std::vector<int64_t>>(rows),
                       Expr::symbol("j") - Expr::symbol("i") + Expr(n - 1));
  };
  const Lengths bounds = {{"N", 40}};
  auto atI = [](std::vector<int64_t> rows) {
    return Expr::table(std::make_shared<const std::vector<int64_t>>(std::move(rows)), Expr::symbol("i"));
  };
  std::vector<Expr> tables, others, alike;
  for (const Lengths &point : fittingPoints(bounds)) {
    int64_t n = point.at("N");
    tables.push_back(tableOf(n));
    std::vector<int64_t> rows(n, n);
    alike.push_back(atI(rows));
    rows[1] = 0;
    others.push_back(atI(rows));
  }
  auto found = fitExpressions(tables, bounds);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, tables.front());
  EXPECT_FALSE(fitExpressions(others, bounds)); // other numbers at other lengths
  found = fitExpressions(alike, bounds);        // one number in all rows is the length, and no table
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, readsOfLengths(bounds).at("N"));
}
