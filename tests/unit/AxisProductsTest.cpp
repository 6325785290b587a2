// Tests dimensions that are products of axes, and the numbers that lanes of 32 bits can hold.
#include "passes/Analysis/AxisProducts.h"
#include "AttentionTesting.h"
#include "passes/Analysis/LaneFit.h"
#include <random>

using namespace skewer;
using namespace skewer::subscript;
using namespace skewer::testing;

namespace {

Expr text(const std::string &spelling) { return *parse(std::string_view(spelling)); }

/// The digits of a product are the values of its axes at each index, for products of one to three axes of any size.
TEST(AxisProducts, PartsAreTheDigitsOfTheIndex) {
  std::mt19937 random(5);
  for (int turn = 0; turn < 60; ++turn) {
    std::vector<std::string> axes;
    AxisSizes sizes;
    int64_t count = 1;
    for (const char *axis : {"x", "y", "z"})
      if (axes.empty() || random() % 3) {
        axes.push_back(axis);
        count *= sizes[axis] = 1 + random() % 4;
      }
    auto parts = splitProduct(Expr::symbol("n"), axes, sizes);
    ASSERT_TRUE(parts);
    for (int64_t n = 0; n < count; ++n) {
      int64_t again = 0;
      for (size_t k = 0; k < axes.size(); ++k) {
        int64_t digit = evaluate((*parts)[k], {{"n", n}}).value_or(-1);
        EXPECT_GE(digit, 0);
        EXPECT_LT(digit, sizes.at(axes[k]));
        again = again * sizes.at(axes[k]) + digit;
      }
      EXPECT_EQ(again, n);
    }
  }
}

TEST(AxisProducts, OnlyTheOutermostAxisMayHaveNoKnownSize) {
  Expr n = Expr::symbol("n");
  EXPECT_TRUE(splitProduct(n, {"b", "x"}, {{"x", 4}}));
  EXPECT_TRUE(splitProduct(n, {"b", "x"}, {{"b", kRuntime}, {"x", 4}}));
  EXPECT_FALSE(splitProduct(n, {"b", "x"}, {{"b", 2}}));
  EXPECT_FALSE(splitProduct(n, {"b", "x"}, {{"b", 2}, {"x", kRuntime}}));
  EXPECT_FALSE(splitProduct(n, {"a", "b", "c"}, {{"b", INT64_MAX / 2}, {"c", 4}})) << "strides beyond 64 bits";
}

/// A read at a product gives that product; a read at any other index gives the index.
TEST(AxisProducts, DimensionsAreProductsWhereTheIndexIsOne) {
  const AxisSizes sizes = {{"x", 2}, {"y", 3}, {"z", 4}, {"b", kRuntime}};
  auto axesOf = [&](const char *index, int64_t extent = kRuntime) {
    return dimensionFor(text(index), sizes, extent).axes;
  };
  using Axes = std::vector<std::string>;
  EXPECT_EQ(axesOf("y"), (Axes{"y"}));
  EXPECT_EQ(axesOf("x * 12 + y * 4 + z"), (Axes{"x", "y", "z"}));
  EXPECT_EQ(axesOf("z + x * 4"), (Axes{"x", "z"}));
  EXPECT_EQ(axesOf("b * 3 + y"), (Axes{"b", "y"})) << "the outermost may be known at run time alone";
  EXPECT_EQ(axesOf("x * 12 + y * 4 + z", 24), (Axes{"x", "y", "z"}));
  for (const char *index :
       {"y * 2", "x * 5 + z", "x * 4 + z + 1", "y * b + z", "x * 4 + y * 4 + z", "n", "0", "4 - z"}) {
    Dimension dimension = dimensionFor(text(index), sizes);
    EXPECT_TRUE(dimension.axes.empty()) << index;
    EXPECT_EQ(dimension.index, text(index)) << index;
  }
}

/// An axis that reads a part of a dimension, or more than it, must not count as the whole.
TEST(AxisProducts, OfAnotherExtentAnAxisIsSaidOtherwise) {
  const AxisSizes sizes = {{"x", 2}, {"y", 3}};
  for (int64_t extent : {2, 3, 5}) {
    Dimension dimension = dimensionFor(Expr::symbol("y"), sizes, extent);
    EXPECT_EQ(dimension.axes.empty(), extent != 3);
    if (extent != 3)
      for (int64_t y = 0; y < 3; ++y)
        EXPECT_EQ(evaluate(dimension.index, {{"y", y}}), std::min(y, extent - 1));
    EXPECT_EQ(dimensionFor(text("x * 3 + y"), sizes, 2 * extent).axes.empty(), extent != 3);
  }
}

TEST(LaneFit, WhatPasses30BitsAnywhereDoesNotFit) {
  Domain domain = domainOf({{"i", 1 << 20}, {"j", 1000}});
  EXPECT_TRUE(fitsLanes(text("i * 1000 + j"), domain));
  EXPECT_FALSE(fitsLanes(text("i * 1100 + j"), domain));
  EXPECT_FALSE(fitsLanes(text("(i * 1100 + j) mod 7"), domain)) << "on the way";
  EXPECT_FALSE(fitsLanes(text("i * i"), domain));
  EXPECT_TRUE(fitsLanes(text("n + 0"), domain)) << "an axis of run-time size is an i32";
}

TEST(LaneFit, PlacesAreWhatPositionsMove) {
  ParsedAttention attention(
      {"h i j", {}, {}, "h j e -> h i e", "2x9x8", "2x7x8", {{"h i d, h j d", {"2x7x8", "2x9x8"}}}});
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  for (const char *offset : {"h * 63 + i * 9 + j", "i * 9 + j", "h * 63 + 5", "7", "h * i + h + j"}) {
    auto [base, place] = splitPlace(text(offset), shape->space);
    EXPECT_FALSE(usesAny(base, {"i", "j"})) << offset;
    for (int64_t h : {0, 1})
      for (int64_t i : {0, 3})
        for (int64_t j : {0, 8}) {
          Assignment at = {{"h", h}, {"i", i}, {"j", j}};
          EXPECT_EQ(*evaluate(base, at) + *evaluate(place, at), *evaluate(text(offset), at)) << offset;
        }
  }
  std::vector<Expr> parts;
  addends(text("h * 63 + i * 9 + j"), parts);
  EXPECT_EQ(parts.size(), 3u);
}
} // namespace
