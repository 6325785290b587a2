// Tests the emitted code for axes of positions and heads, and for the keys that a mask leaves a group of rows: compiles
// it, runs it for every position, and compares with brute force.
#include "passes/Cpu/LiveKeys.h"
#include "AttentionTesting.h"
#include "EmittedTesting.h"

using namespace skewer;
using namespace skewer::testing;
using mlir::Value;

namespace {

AttentionText masked(const std::string &mask) {
  AttentionText text;
  text.score = {{"h i d, h j d", {"2x7x8", "2x9x8"}}};
  if (!mask.empty())
    text.mask = " where \"" + mask + "\"";
  return text;
}

TEST(Positions, AxesOfAMapAreDigitsOfThePosition) {
  AttentionText text;
  text.space = "b h (iy ix) (jy jx)";
  text.value = "b h (jy jx) e -> b h (iy ix) e";
  text.sizes = " sizes {b = 2, h = 5, ix = 3, iy = 2, jx = 4, jy = 3}";
  text.valueShape = "2x5x12x8", text.resultShape = "2x5x6x8";
  text.score = {{"b h (iy ix) d, b h (jy jx) d", {"2x5x6x8", "2x5x12x8"}}};
  ParsedAttention attention(text);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  const std::vector<std::string> names = {"b", "h", "iy", "ix", "jy", "jx"};
  auto got = runEmitted(60 * 6, [&](VectorBuilder &b, Value out) {
    Positions positions(b, *shape);
    positions.leadingSizes = {b.index(2), b.index(5)};
    b.loop(b.index(0), b.index(60), 1, [&](Value n) {
      positions.enterHead(b.remainder(n, 10));
      Positions::Values at = positions.axesAt(b.remainder(n, 6), b.remainder(n, 12));
      for (auto [place, name] : llvm::enumerate(names))
        b.storeScalar(asFloat(b, at.at(name)), out, b.add(b.mul(n, 6), int64_t(place)));
    });
  });
  for (int n = 0; n < 60; ++n) {
    int head = n % 10, query = n % 6, key = n % 12;
    int expected[] = {head / 5, head % 5, query / 3, query % 3, key / 4, key % 4};
    for (int place = 0; place < 6; ++place)
      EXPECT_EQ(asNumber(got[n * 6 + place]), expected[place]) << names[place] << " of " << n;
  }
}

TEST(Positions, CopiesAreTuplesOfTheirAxes) {
  AttentionText text = masked("");
  text.space = "b h i j", text.value = "b h j e -> b h i e";
  text.valueShape = "3x5x9x8", text.resultShape = "3x5x7x8";
  text.score = {{"b h i d, b h j d", {"3x5x7x8", "3x5x9x8"}}};
  ParsedAttention attention(text);
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  for (const std::vector<std::string> &axes : std::vector<std::vector<std::string>>{{}, {"h"}, {"b"}, {"b", "h"}}) {
    auto got = runEmitted(30, [&](VectorBuilder &b, Value out) {
      Positions positions(b, *shape);
      positions.leadingSizes = {b.index(3), b.index(5)};
      b.loop(b.index(0), b.index(15), 1, [&](Value head) {
        positions.enterHead(head);
        Value copy = positions.copyOf(axes);
        b.storeScalar(asFloat(b, copy), out, b.mul(head, 2));
        positions.enterCopy(axes, copy);
        b.storeScalar(asFloat(b, positions.copyOf(axes)), out, b.add(b.mul(head, 2), 1));
      });
    });
    for (int head = 0; head < 15; ++head) {
      int copy = 0;
      for (const std::string &axis : axes)
        copy = axis == "b" ? copy * 3 + head / 5 : copy * 5 + head % 5;
      EXPECT_EQ(asNumber(got[head * 2]), copy) << head;
      EXPECT_EQ(asNumber(got[head * 2 + 1]), copy) << "what enters a copy is in it";
    }
  }
}

/// Returns [low, high) for groups of rows by the emitted code, and whether some row of the group sees a key outside.
void expectLive(const std::string &mask, int64_t rows, int64_t rowStep) {
  ParsedAttention attention(masked(mask));
  auto shape = attention.shape();
  ASSERT_TRUE(shape);
  ASSERT_TRUE(shape->masks.empty()) << mask << ": not of intervals alone";
  Geometry geometry{};
  geometry.rowStep = rowStep;
  auto got = runEmitted(7 * 2 + 7 * 9, [&](VectorBuilder &b, Value out) {
    Positions positions(b, *shape);
    positions.leadingSizes = {b.index(2)};
    positions.enterHead(b.index(0));
    LiveKeys live(b, *shape, geometry, positions);
    b.loop(b.index(0), b.index(7), 1, [&](Value first) {
      auto range = live.of(first, rows, b.index(0), b.index(9));
      b.storeScalar(asFloat(b, range.first), out, b.mul(first, 2));
      b.storeScalar(asFloat(b, range.second), out, b.add(b.mul(first, 2), 1));
      b.loop(b.index(0), b.index(9), 1, [&](Value key) {
        Value met = live.meets(range, b.index(0), key, b.add(key, 1));
        b.storeScalar(asFloat(b, met), out, b.add(b.add(b.mul(first, 9), key), 14));
      });
    });
  });
  for (int64_t first = 0; first < 7; ++first)
    for (int64_t key = 0; key < 9; ++key) {
      bool seen = false;
      for (int64_t row = 0; row < rows && first + row * rowStep < 7; ++row)
        seen |= sees(attention.op, shape->space, first + row * rowStep, key);
      bool inRange = asNumber(got[first * 2]) <= key && key < asNumber(got[first * 2 + 1]);
      bool met = asNumber(got[14 + first * 9 + key]) != 0;
      if (seen) {
        EXPECT_TRUE(inRange || key < shape->prefix) << mask << ": key " << key << " of rows from " << first;
        EXPECT_TRUE(met) << mask << ": key " << key << " of rows from " << first;
      } else if (rows == 1) {
        EXPECT_FALSE(met) << mask << ": key " << key << " of row " << first << " alone";
      }
    }
}

TEST(LiveKeys, WhatSomeRowSeesIsLive) {
  for (const char *mask : {"", "j <= i", "j >= i", "abs(i - j) <= 2", "j <= i and i - j < 3", "i == j",
                           "j < 2 or i - j < 3", "j <= i and (j < 2 or i - j < 3)"})
    for (int64_t rows : {1, 2, 4})
      for (int64_t rowStep : {1, 2})
        expectLive(mask, rows, rowStep);
}

TEST(LiveKeys, ALimitIsAMaskOrARangeThatAStrategyKnows) {
  ParsedAttention all(masked("")), some(masked("j <= i"));
  auto shape = all.shape(), causal = some.shape();
  ASSERT_TRUE(shape && causal);
  runEmitted(1, [&](VectorBuilder &b, Value out) {
    Geometry geometry{};
    Positions positions(b, *shape);
    LiveKeys open(b, *shape, geometry, positions), limited(b, *causal, geometry, positions);
    EXPECT_FALSE(open.isLimited());
    EXPECT_TRUE(limited.isLimited());
    open.ofHead = {b.index(1), b.index(5)};
    EXPECT_TRUE(open.isLimited());
    b.storeScalar(asFloat(b, open.of(b.index(0), 4, b.index(0), b.index(9)).second), out, b.index(0));
  });
}

} // namespace
