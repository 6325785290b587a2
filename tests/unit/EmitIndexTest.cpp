// Tests index expressions as machine code: compiles them, runs them at every point of a box, one position at a time and
// a vector of keys at a time, and compares with the evaluator. An expression without a value must neither trap nor read
// outside a table.
#include "passes/Emit/EmitIndex.h"
#include "EmittedTesting.h"
#include "RandomExpr.h"
#include "SubscriptTesting.h"
#include "passes/Cpu/LaneIndices.h"
#include "passes/Emit/IntegerLanes.h"

using namespace skewer;
using namespace skewer::subscript;
using skewer::subscript::testing::RandomExpr;
using skewer::subscript::testing::read;
using skewer::testing::asFloat;
using skewer::testing::asNumber;
using skewer::testing::runEmitted;

namespace {
constexpr int64_t kSide = 7; // i and k have this many values; j has as many vectors as hold them
const Domain kBox = {{"i", {-3, 3}}, {"j", {0, kSide - 1}}, {"k", {0, kSide - 1}}};

/// Makes expressions whose values, and those of all their parts, are small over the box.
std::vector<Expr> expressions(unsigned seed, size_t count, bool predicates) {
  RandomExpr random(seed);
  std::vector<Expr> found;
  while (found.size() < count) {
    Expr e = predicates ? random.predicate(3) : random.index(4);
    if (fitsLanes(e, kBox))
      found.push_back(e);
  }
  return found;
}

/// Returns the value of each expression at each (i, k, j), j fastest, by IndexEmitter.
std::vector<float> runScalar(const std::vector<Expr> &all, bool predicates) {
  int64_t points = kSide * kSide * kSide;
  return runEmitted(points * int64_t(all.size()), [&](VectorBuilder &b, mlir::Value out) {
    b.loop(b.index(0), b.index(kSide), 1, [&](mlir::Value i) {
      b.loop(b.index(0), b.index(kSide), 1, [&](mlir::Value k) {
        b.loop(b.index(0), b.index(kSide), 1, [&](mlir::Value j) {
          IndexEmitter emitter(b.builder, b.builder.getLoc(), {{"i", b.add(i, -3)}, {"j", j}, {"k", k}});
          mlir::Value point = b.add(b.mul(b.add(b.mul(i, kSide), k), kSide), j);
          for (size_t n = 0; n < all.size(); ++n) {
            mlir::Value value = predicates ? emitter.emitPredicate(all[n]) : emitter.emit(all[n]);
            EXPECT_TRUE(value) << emitter.failure();
            if (value)
              b.storeScalar(asFloat(b, value), out, b.add(point, int64_t(n) * points));
          }
        });
      });
    });
  });
}

void expectValues(const std::vector<Expr> &all, const std::vector<float> &got, int64_t keys) {
  int64_t points = kSide * kSide * keys;
  for (size_t n = 0; n < all.size(); ++n)
    for (int64_t i = 0; i < kSide; ++i)
      for (int64_t k = 0; k < kSide; ++k)
        for (int64_t j = 0; j < kSide; ++j) {
          auto expected = evaluate(all[n], {{"i", i - 3}, {"j", j}, {"k", k}});
          if (expected)
            ASSERT_EQ(asNumber(got[int64_t(n) * points + (i * kSide + k) * keys + j]), *expected)
                << print(all[n]) << " at i = " << i - 3 << ", j = " << j << ", k = " << k;
        }
}

TEST(EmitIndex, EveryValueAtEveryPoint) {
  for (unsigned seed : {41, 42, 43}) {
    std::vector<Expr> all = expressions(seed, 20, false);
    expectValues(all, runScalar(all, false), kSide);
  }
}

TEST(EmitIndex, EveryPredicateAtEveryPoint) {
  std::vector<Expr> all = expressions(44, 20, true);
  expectValues(all, runScalar(all, true), kSide);
}

TEST(EmitIndex, WhatHasNoValueDoesNotTrap) {
  // Divisors of 0 and below, rows outside of tables, in branches that are not taken and in some that are.
  std::vector<Expr> all;
  for (const char *text : {"select(i > 0, 6 floordiv i, -1)", "select(i > 0, 6 mod i, -1)", "6 floordiv i",
                           "6 mod (i - 3)", "select(0 <= i, [5, 6, 7, 8][i], 0)", "[5, 6, 7, 8][i]",
                           "[1, 2][1000000*i]", "select(i < 0 or [1, 0, 1, 0][i] == 1, 1, 0)", "(i floordiv k) + j"})
    all.push_back(read(text));
  expectValues(all, runScalar(all, false), kSide);
}

TEST(EmitIndex, ASymbolWithoutAValueIsNamed) {
  runEmitted(1, [&](VectorBuilder &b, mlir::Value out) {
    IndexEmitter emitter(b.builder, b.builder.getLoc(), {{"i", b.index(1)}});
    EXPECT_FALSE(emitter.emit(read("i + unknown")));
    EXPECT_NE(emitter.failure().find("unknown"), std::string::npos) << emitter.failure();
    EXPECT_FALSE(emitter.emitPredicate(read("seg[i] == 1")));
    EXPECT_NE(emitter.failure().find("seg"), std::string::npos) << emitter.failure();
    EXPECT_TRUE(emitter.emit(read("i + 1"))) << "a failure is of its expression";
    b.storeScalar(b.constantScalar(0), out, b.index(0));
  });
}

TEST(LaneIndices, EveryValueAtEveryPoint) {
  for (unsigned seed : {51, 52, 53})
    for (bool predicates : {false, true}) {
      std::vector<Expr> all = expressions(seed, 12, predicates);
      constexpr int64_t keys = 8; // two vectors of four lanes
      int64_t points = kSide * kSide * keys;
      std::vector<float> got = runEmitted(points * int64_t(all.size()), [&](VectorBuilder &b, mlir::Value out) {
        b.loop(b.index(0), b.index(kSide), 1, [&](mlir::Value i) {
          b.loop(b.index(0), b.index(kSide), 1, [&](mlir::Value k) {
            b.loop(b.index(0), b.index(keys), b.lanes, [&](mlir::Value j) {
              mlir::Value key = mlir::arith::AddIOp::create(b.builder, broadcastIndex(b, j), laneNumbers(b));
              LaneIndices emitter(b, {{"i", b.add(i, -3)}, {"k", k}}, {{"j", key}}, {});
              mlir::Value point = b.add(b.mul(b.add(b.mul(i, kSide), k), keys), j);
              for (size_t n = 0; n < all.size(); ++n) {
                mlir::Value value = predicates ? emitter.emitPredicate(all[n]) : emitter.emit(all[n]);
                b.store(asFloat(b, value), out, b.add(point, int64_t(n) * points));
              }
            });
          });
        });
      });
      expectValues(all, got, keys);
    }
}

// Dividends near multiples of divisors of every size, up to the ends of the lanes' range: there a truncated quotient of
// floats is one too large or too small, on both sides of 0.
TEST(LaneIndices, DividesByANumberOfTheCall) {
  constexpr int64_t kMost = 1 << 30;
  std::vector<int32_t> divisors = {int32_t(kMostDivisor), int32_t(kMostDivisor - 1), 1 << 21, (1 << 21) - 1}, numbers;
  for (int32_t d = 1; d < kMostDivisor; d = d < 40 ? d + 1 : d + d / 5 + 1)
    divisors.push_back(d);
  std::mt19937 random(7);
  constexpr size_t kEach = 480; // dividends of a divisor
  for (int32_t d : divisors) {
    std::vector<int64_t> multiples = {0, 1, -1, 2, -2, kMost / d, -kMost / d, kMost / d - 1, 1 - kMost / d};
    while (multiples.size() < kEach / 3)
      multiples.push_back(int64_t(random() % (2 * uint64_t(kMost / d) + 1)) - kMost / d);
    for (int64_t multiple : multiples)
      for (int64_t beside : {-1, 0, 1})
        numbers.push_back(int32_t(std::clamp(multiple * d + beside, -kMost, kMost)));
  }
  auto count = int64_t(numbers.size());
  for (bool remainder : {false, true}) {
    std::vector<float> got = runEmitted(count, [&](VectorBuilder &b, mlir::Value out) {
      mlir::Value byTable = integerTable(b, divisors), ofTable = integerTable(b, numbers);
      b.loop(b.index(0), b.index(int64_t(divisors.size())), 1, [&](mlir::Value number) {
        mlir::Value by = tableElement(b, byTable, number);
        b.loop(b.index(0), b.index(kEach), b.lanes, [&](mlir::Value place) {
          mlir::Value at = b.add(b.mul(number, kEach), place);
          LaneIndices emitter(b, {{"by", by}}, {{"x", loadIntegers(b, ofTable, at)}}, {});
          b.store(asFloat(b, emitter.emit(read(remainder ? "x mod by" : "x floordiv by"))), out, at);
        });
      });
    });
    for (int64_t k = 0; k < count; ++k) {
      int64_t x = numbers[k], d = divisors[k / kEach], rest = ((x % d) + d) % d;
      ASSERT_EQ(asNumber(got[k]), remainder ? rest : (x - rest) / d) << x << (remainder ? " mod " : " floordiv ") << d;
    }
  }
}

TEST(LaneIndices, RefusesWhatLeaves30Bits) {
  EXPECT_TRUE(fitsLanes(read("1000*i + j"), kBox));
  EXPECT_FALSE(fitsLanes(read("1000000000*i"), kBox));
  EXPECT_FALSE(fitsLanes(read("(1000000000*i) floordiv 1000000000"), kBox)) << "small itself, made of what is not";
  EXPECT_TRUE(fitsLanes(read("n"), {{"i", {0, 3}}})) << "a position along an axis of run-time size";
  EXPECT_FALSE(fitsLanes(read("i + n"), {{"i", {0, 3}}})) << "nothing bounds the sum";
  EXPECT_TRUE(fitsLanes(read("i floordiv W[0]"), {{"i", {0, 3}}, {elementsOf("W"), {1, kMostDivisor}}}));
  EXPECT_FALSE(fitsLanes(read("i floordiv W[0]"), {{"i", {0, 3}}, {elementsOf("W"), {1, kMostDivisor + 1}}}));
  EXPECT_FALSE(fitsLanes(read("i mod n"), {{"i", {0, 3}}})) << "nothing bounds the divisor";
  EXPECT_TRUE(fitsLanes(read("bucket[i] + 1"), {{"i", {0, 3}}, {elementsOf("bucket"), {0, 31}}}));
}
} // namespace
