// Tests the join of the dimensions of tensors, for two in both orders, and for three in all orders.
#include "dialect/Language/Joins.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

namespace skewer::language {
namespace {

Dimension named(const std::string &name, int64_t size) { return {size, "", {{Axis{name, size, ""}}}}; }
Dimension product(const std::string &first, const std::string &second, int64_t size) {
  return {size, "", {{Axis{first, 2, ""}, Axis{second, size / 2, ""}}}};
}
Dimension unnamed(int64_t size) { return {size, "", {}}; }

Shape shape(Dimensions dimensions) { return {std::move(dimensions), {}}; }
Shape axes(const std::string &letters) {
  Dimensions dimensions;
  for (char c : letters)
    dimensions.push_back(named(std::string(1, c), 2 + (c - 'a') % 3));
  return shape(std::move(dimensions));
}
Shape positions(const std::string &letters) {
  Shape result = axes(letters);
  result.order.isWritten = false;
  if (letters.size() > 2) // a read: its places have an order
    result.order.hints = {{letters.substr(0, 1), letters.substr(1, 1)}, {letters.substr(1, 1), letters.substr(2, 1)}};
  return result;
}

/// Returns what is known about a result: its axes with their sizes, and their order if there is one.
std::string told(const Joined &joined) {
  if (joined.complaint)
    return "error";
  std::vector<std::string> names;
  for (const Dimension &d : joined.shape.dimensions)
    names.push_back((d.namings.empty() ? "_" : print(d.namings[0])) + ":" + std::to_string(d.size));
  bool isOpen = firstOpen(joined.shape).has_value();
  if (isOpen)
    std::sort(names.begin(), names.end());
  std::string text = isOpen ? "open" : "";
  for (const std::string &name : names)
    text += " " + name;
  return text;
}

std::string text(const Joined &joined) {
  return joined.complaint ? "error: " + joined.complaint->message : describeAxes(joined.shape.dimensions);
}

Joined join(const Joined &a, const Joined &b) {
  return a.complaint ? a : b.complaint ? b : skewer::language::join(a.shape, b.shape);
}

TEST(Joins, TheOperandThatHasAllAxesGivesTheOrder) {
  EXPECT_EQ(text(join(axes("hij"), axes("bhij"))), "b h i j");
  EXPECT_EQ(text(join(axes("bhij"), axes("hij"))), "b h i j");
  EXPECT_EQ(text(join(axes("ji"), axes("bij"))), "b i j");
  EXPECT_EQ(text(join(positions("ji"), axes("bij"))), "b i j");
}

TEST(Joins, AUnionKeepsBothOrders) {
  Joined joined = join(axes("bi"), axes("ij"));
  EXPECT_EQ(text(joined), "b i j");
  EXPECT_FALSE(firstOpen(joined.shape));
  EXPECT_EQ(text(join(axes("ij"), axes("bi"))), "b i j");
}

TEST(Joins, WhatNothingOrdersIsOpen) {
  Joined joined = join(axes("bi"), axes("bj"));
  EXPECT_EQ(text(joined), "b i j");
  EXPECT_EQ(firstOpen(joined.shape), 1u);
  EXPECT_TRUE(firstOpen(join(axes("i"), axes("j")).shape));
  // The third operand has both, for every order of the others.
  EXPECT_EQ(text(join(join(axes("j"), axes("i")).shape, axes("ij"))), "i j");
}

TEST(Joins, TwoOrdersContradictEachOther) {
  EXPECT_TRUE(join(axes("nd"), axes("dn")).complaint);
  EXPECT_TRUE(join(join(axes("ij"), axes("jk")).shape, axes("ki")).complaint);
}

TEST(Joins, EqualNamesHaveEqualSizes) {
  Joined joined = join(shape({named("i", 1)}), shape({named("i", 4)}));
  ASSERT_TRUE(joined.complaint);
  EXPECT_EQ(joined.complaint->message, "axis 'i' has size 1 in one operand and 4 in the other");
}

TEST(Joins, AProductIsAnotherNameOfTheDimensionAtItsPlace) {
  Shape flat = shape({named("b", 3), named("i", 6)}), map = shape({named("b", 3), product("y", "x", 6)});
  for (const Joined &joined : {join(flat, map), join(map, flat)}) {
    ASSERT_FALSE(joined.complaint);
    EXPECT_EQ(joined.shape.dimensions.size(), 2u);
    EXPECT_EQ(joined.shape.dimensions[1].namings.size(), 2u);
  }
  EXPECT_TRUE(join(shape({product("t", "j", 6)}), shape({named("j", 3), named("k", 2)})).complaint);
}

TEST(Joins, DimensionsWithoutNamesJoinByPlace) {
  Joined joined = join(shape({named("b", 2), named("i", 3)}), shape({unnamed(1), unnamed(3)}));
  EXPECT_FALSE(joined.byName);
  EXPECT_EQ(text(joined), "b i");
  EXPECT_EQ(text(join(shape({unnamed(3), unnamed(4)}), shape({named("i", 4)}))), "_ i");
  EXPECT_TRUE(join(shape({named("i", 4), unnamed(4)}), shape({named("i", 4), named("j", 4)})).byName == false);
  EXPECT_TRUE(join(shape({unnamed(4), named("i", 4)}), shape({named("i", 4), named("j", 4)})).complaint);
  EXPECT_TRUE(join(positions("ij"), shape({unnamed(2), unnamed(3)})).complaint);
  EXPECT_EQ(text(join(positions("j"), shape({named("j", 2), unnamed(2)}))), "j _");
  EXPECT_TRUE(join(axes("j"), shape({named("j", 2), unnamed(2)})).complaint);
  EXPECT_TRUE(join(shape({unnamed(4), unnamed(4)}), shape({named("i", 5)})).complaint);
}

TEST(Joins, SwappingOperandsAndBracketsChangesNothing) {
  std::mt19937 random(2);
  size_t joined = 0, open = 0, refused = 0;
  for (unsigned round = 0; round < 4000; ++round) {
    std::vector<Shape> parts;
    for (unsigned k = 0; k < 3; ++k) {
      std::string letters = "abcd";
      std::shuffle(letters.begin(), letters.end(), random);
      letters.resize(1 + random() % 4);
      if (random() % 3)
        std::sort(letters.begin(), letters.end());
      parts.push_back(random() % 6 ? axes(letters) : positions(letters));
    }
    const Shape &x = parts[0], &y = parts[1], &z = parts[2];
    EXPECT_EQ(told(join(x, y)), told(join(y, x))) << describeAxes(x.dimensions) << " + " << describeAxes(y.dimensions);
    std::string first = told(join(join(x, y), Joined{z})), second = told(join(Joined{x}, join(y, z)));
    ++(first == "error" ? refused : first.substr(0, 4) == "open" ? open : joined);
    if (first == "error" || second == "error")
      continue; // a contradiction may be met before the operand that has all axes
    EXPECT_EQ(first, second) << describeAxes(x.dimensions) << " + " << describeAxes(y.dimensions) << " + "
                             << describeAxes(z.dimensions);
  }
  EXPECT_GT(joined, 1000u);
  EXPECT_GT(open, 200u);
  EXPECT_GT(refused, 200u);
}

} // namespace
} // namespace skewer::language
