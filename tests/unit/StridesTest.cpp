// Compares the strides of places along axes with all positions one by one.
#include "passes/Analysis/Strides.h"
#include "dialect/Subscript/Analysis.h"
#include "tests/unit/SubscriptTesting.h"
#include <gtest/gtest.h>
#include <random>

using namespace skewer;
using namespace skewer::subscript;
using skewer::subscript::testing::read;

namespace {

/// Returns the place of each position of the product of axes, row by row, relative to the first.
std::vector<int64_t> placesOf(const std::map<std::string, int64_t> &coefficients, const std::vector<std::string> &axes,
                              const AxisSizes &sizes) {
  std::vector<int64_t> places{0};
  for (const std::string &axis : axes) {
    std::vector<int64_t> next;
    auto found = coefficients.find(axis);
    for (int64_t place : places)
      for (int64_t k = 0; k < sizes.at(axis); ++k)
        next.push_back(place + k * (found == coefficients.end() ? 0 : found->second));
    places = next;
  }
  return places;
}

TEST(EvenStride, IsThatOfAllPositions) {
  std::mt19937 random(3);
  int even = 0, uneven = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    std::vector<std::string> axes;
    std::map<std::string, int64_t> coefficients{{"other", 7}};
    AxisSizes sizes{{"other", 5}};
    int64_t stride = int64_t(random() % 7) - 3;
    for (const char *axis : {"c", "b", "a"}) { // from the innermost one, mostly evenly
      if (random() % 4 == 0)
        continue;
      axes.insert(axes.begin(), axis);
      sizes[axis] = 1 + int64_t(random() % 4);
      int64_t coefficient = random() % 5 ? stride : int64_t(random() % 9) - 4;
      if (coefficient != 0)
        coefficients[axis] = coefficient;
      stride *= sizes[axis];
    }
    std::vector<int64_t> places = placesOf(coefficients, axes, sizes);
    int64_t step = places.size() > 1 ? places[1] : 0;
    bool isEven = true;
    for (size_t p = 0; p < places.size(); ++p)
      isEven &= places[p] == int64_t(p) * step;
    auto found = evenStride(coefficients, axes, sizes);
    ASSERT_EQ(found.has_value(), isEven) << turn;
    if (isEven)
      ASSERT_EQ(*found, step) << turn;
    ++(isEven ? even : uneven);
  }
  EXPECT_GT(even, 500);
  EXPECT_GT(uneven, 500);
}

TEST(RowMajor, IsTheFlatPosition) {
  Expr flat = rowMajor({read("2*i"), read("j + 1"), read("i + k")}, {kRuntime, 5, 7});
  for (int64_t i : {0, 2})
    for (int64_t j : {0, 3})
      for (int64_t k : {0, 4})
        EXPECT_EQ(evaluate(flat, {{"i", i}, {"j", j}, {"k", k}}), (2 * i * 5 + j + 1) * 7 + i + k);
  EXPECT_EQ(evaluate(rowMajor({}, {}), {}), 0) << "of a number";
}

TEST(StepAlong, FromElementToElementOrNotAtAll) {
  auto step = [](std::initializer_list<const char *> texts, const char *axis) {
    std::vector<Expr> subscripts;
    for (const char *text : texts)
      subscripts.push_back(read(text));
    return stepAlong(subscripts, axis);
  };
  EXPECT_EQ(step({"i", "j"}, "j"), 1);
  EXPECT_EQ(step({"i", "3 - i + j"}, "j"), 1);
  EXPECT_EQ(step({"i", "j"}, "k"), 0);
  EXPECT_EQ(step({"i mod 3", "j"}, "k"), 0) << "what another axis does is no matter";
  EXPECT_EQ(step({"i", "j"}, "i"), std::nullopt) << "from row to row";
  EXPECT_EQ(step({"i", "2*j"}, "j"), std::nullopt);
  EXPECT_EQ(step({"i", "-j + 9"}, "j"), std::nullopt) << "backwards";
  EXPECT_EQ(step({"i", "j floordiv 2"}, "j"), std::nullopt);
  EXPECT_EQ(step({"j", "j"}, "j"), std::nullopt) << "along a diagonal";
  EXPECT_EQ(step({}, "j"), 0);
}
} // namespace
