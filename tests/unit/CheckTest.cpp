// How a result is judged: differences as a share of the largest value, NaN and infinities element by element, and the
// worst place named.
#include "tools/skewer/Check.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace skewer;
using namespace skewer::driver;

namespace {
const float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = INFINITY;

Comparison compare(std::vector<double> expected, std::vector<float> got, std::vector<int64_t> shape) {
  return compareWith(Array{std::move(shape), std::move(expected)}, ElementType::F32, got.data());
}

TEST(Check, TheErrorIsAShareOfTheLargestValue) {
  Comparison c = compare({1, -8, 2, 0}, {1, -8, 2.5, 0.25}, {2, 2});
  EXPECT_DOUBLE_EQ(c.error, 0.5 / 8);
  EXPECT_EQ(c.mismatches, 0);
  EXPECT_EQ(c.where, "[1, 0]: got 2.5, expected 2");
  EXPECT_EQ(c.rows, 2);
  EXPECT_EQ(c.allRows, 2);
  EXPECT_TRUE(c.within(0.0625));
  EXPECT_FALSE(c.within(0.06));
}

TEST(Check, EqualIsWithoutError) {
  Comparison c = compare({0, 0}, {0, -0.0f}, {2});
  EXPECT_EQ(c.error, 0);
  EXPECT_TRUE(c.within(0));
}

TEST(Check, NaNMustBeNaN) {
  EXPECT_TRUE(compare({NAN, 1}, {kNaN, 1}, {2}).within(0));
  Comparison one = compare({NAN, 1}, {0, 1}, {2});
  EXPECT_EQ(one.mismatches, 1);
  EXPECT_FALSE(one.within(1e30)) << "no tolerance forgives it";
  Comparison other = compare({1, 1}, {1, kNaN}, {2});
  EXPECT_EQ(other.mismatches, 1);
  EXPECT_NE(other.where.find("[1]: got nan, expected 1"), std::string::npos) << other.where;
}

TEST(Check, InfinitiesHaveASign) {
  EXPECT_TRUE(compare({INFINITY, -INFINITY}, {kInfinity, -kInfinity}, {2}).within(0));
  EXPECT_EQ(compare({INFINITY, -INFINITY}, {kInfinity, kInfinity}, {2}).mismatches, 1);
  EXPECT_EQ(compare({-INFINITY, 3}, {-1e30f, 3}, {2}).mismatches, 1) << "large is not infinite";
}

TEST(Check, InfiniteValuesDoNotHideErrors) {
  Comparison c = compare({INFINITY, 2, 1}, {kInfinity, 2, 1.5f}, {3});
  EXPECT_DOUBLE_EQ(c.error, 0.25) << "the largest finite value counts";
}

TEST(Check, OfZeroEveryDifferenceIsWhole) {
  Comparison c = compare({0, 0}, {0, 1e-6f}, {2});
  EXPECT_NEAR(c.error, 1e-6, 1e-12);
}

TEST(Check, HalvesAreReadAsHalves) {
  std::vector<uint16_t> half = {0x3c00, 0xc000}, brain = {0x3f80, 0xc000}; // 1 and -2
  Array expected{{2}, {1, -2}};
  EXPECT_EQ(compareWith(expected, ElementType::F16, half.data()).error, 0);
  EXPECT_EQ(compareWith(expected, ElementType::BF16, brain.data()).error, 0);
}

TEST(Check, ToleranceOfTheCoarsestType) {
  KernelPlan plan;
  plan.inputs = {{"q", ElementType::F32, {}, std::nullopt, std::nullopt}};
  plan.outputs = {{"out", ElementType::F32, {}, std::nullopt, std::nullopt}};
  EXPECT_EQ(defaultTolerance(plan), 2e-6);
  EXPECT_EQ(defaultTolerance(plan, /*isOnGpu=*/true), 1e-5);
  plan.inputs.push_back({"w", ElementType::BF16, {}, std::nullopt, std::nullopt});
  EXPECT_EQ(defaultTolerance(plan), 1.5e-2);
  plan.inputs.back().type = ElementType::F16;
  EXPECT_EQ(defaultTolerance(plan), 2e-3);
}
} // namespace
