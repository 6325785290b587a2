// Tests functions of one number that are stored as steps: they have the computed value at every number.
#include "dialect/Language/Steps.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace skewer;
using namespace skewer::language;
using subscript::Expr;

namespace {

RealPtr number(double value) { return makeReal(value, value == std::floor(value), nullptr); }
RealPtr of(RealKind kind, std::vector<RealPtr> operands) { return makeReal(kind, std::move(operands), nullptr); }
RealPtr x() { return makeReal(Expr::symbol("x"), nullptr); }

/// Returns whether steps are found, and checks that they agree with the function.
void expectSteps(const RealPtr &f, subscript::Range range, size_t steps) {
  auto found = stepsOf(f, "x", range, 256);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), steps);
  Expr told = bySteps(*found, Expr::symbol("x"));
  RealProgram program(*f, {"x"}, /*single=*/true);
  for (int64_t at = range.low; at <= range.high; ++at) {
    auto value = subscript::evaluate(told, {{"x", at}});
    ASSERT_TRUE(value);
    ASSERT_EQ(static_cast<double>(*value), program.run({at})) << "at " << at;
  }
}

TEST(Steps, BucketsOfDistances) {
  RealPtr distance = of(RealKind::Maximum, {of(RealKind::Abs, {x()}), number(1)});
  RealPtr bucket = of(RealKind::Floor, {of(RealKind::Divide, {of(RealKind::Log, {distance}), number(0.301)})});
  expectSteps(bucket, {-5000, 5000}, 55);
  expectSteps(of(RealKind::Minimum, {bucket, number(10)}), {-5000, 5000}, 19);
  // Does the same for an index expression.
  RealPtr whole = makeReal(subscript::max(subscript::abs(Expr::symbol("x") - Expr(7)), 1), nullptr);
  expectSteps(of(RealKind::Ceil, {of(RealKind::Multiply, {of(RealKind::Sqrt, {whole}), number(-0.25)})}), {-900, 1000}, 15);
}
TEST(Steps, Choices) {
  RealPtr left = of(RealKind::Round, {of(RealKind::Multiply, {x(), number(-0.02)})});
  RealPtr right = of(RealKind::Floor, {of(RealKind::Power, {of(RealKind::Maximum, {x(), number(1)}), number(0.5)})});
  RealPtr isSmall = of(RealKind::Less, {x(), number(40)});
  expectSteps(of(RealKind::Select, {isSmall, left, right}), {-300, 700}, 29);
  expectSteps(of(RealKind::Subtract, {isSmall, of(RealKind::Not, {isSmall})}), {-300, 700}, 2);
}
TEST(Steps, OneNumber) {
  expectSteps(of(RealKind::Floor, {of(RealKind::Sqrt, {x()})}), {9, 9}, 1);
  expectSteps(number(3), {-4, 4}, 1);
}
TEST(Steps, LargeNumbersAreNotLookedAtOneByOne) {
  RealPtr distance = of(RealKind::Maximum, {of(RealKind::Abs, {x()}), number(1)});
  RealPtr bucket = of(RealKind::Floor, {of(RealKind::Divide, {of(RealKind::Log, {distance}), number(0.301)})});
  auto found = stepsOf(bucket, "x", {-(int64_t(1) << 32), int64_t(1) << 32}, 256);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 145u);
  EXPECT_EQ(found->front().value, 73);
}
TEST(Steps, WhatIsNotKnownToRiseOrToFall) {
  subscript::Range range{-1000, 1000};
  EXPECT_FALSE(stepsOf(of(RealKind::Floor, {of(RealKind::Sin, {x()})}), "x", range, 256));
  EXPECT_FALSE(stepsOf(of(RealKind::Floor, {of(RealKind::Multiply, {x(), x()})}), "x", range, 256));
  RealPtr isSmall = of(RealKind::Less, {x(), number(40)});
  EXPECT_FALSE(stepsOf(of(RealKind::Add, {isSmall, of(RealKind::Not, {isSmall})}), "x", range, 256));
  EXPECT_FALSE(stepsOf(makeReal(subscript::mod(Expr::symbol("x"), 7), nullptr), "x", range, 256));
  EXPECT_FALSE(stepsOf(of(RealKind::Floor, {of(RealKind::Log, {x()})}), "x", range, 256)); // no number below 1
  EXPECT_FALSE(stepsOf(of(RealKind::Floor, {x()}), "x", range, 256));                      // too many
  EXPECT_FALSE(stepsOf(of(RealKind::Floor, {of(RealKind::Divide, {number(5), x()})}), "x", range, 256));
}

} // namespace
