// Emits, compiles and runs the parts of products: panels, register tiles, and sums in chunks and chains.
#include "EmittedTesting.h"
#include "passes/Analysis/Summation.h"
#include "passes/Cpu/Engine.h"
#include "passes/Cpu/Transpose.h"
#include "passes/Cpu/WeightedSums.h"
#include "passes/Emit/IntegerLanes.h"
#include <cmath>

using namespace skewer;
using llvm::SmallVector;
using mlir::Value;
using mlir::ValueRange;
using skewer::testing::kLanes;
using skewer::testing::runEmitted;

namespace {

/// Returns a multiple of 1/16 below 1: sums of some thousand products of such numbers are exact in f32.
float numberAt(int64_t n) { return float((n * 37 + 11) % 29) * 0.0625f - 0.875f; }

/// Sets buffer[n] = numberAt(n) for the first `count` places.
void fillNumbers(VectorBuilder &b, Value buffer, int64_t count) {
  b.loop(b.index(0), b.index(count), 1, [&](Value n) {
    Value number = b.number(b.remainder(b.add(b.mul(n, 37), 11), 29));
    b.storeScalar(b.addf(b.mulf(number, b.constantScalar(0.0625f)), b.constantScalar(-0.875f)), buffer, n);
  });
}
void fill(VectorBuilder &b, Value buffer, int64_t from, int64_t to, float value) {
  b.loop(b.index(from), b.index(to), 1, [&](Value n) { b.storeScalar(b.constantScalar(value), buffer, n); });
}

struct Packing {
  int64_t rows, depth, rowStride, depthStride;
  double factor = 1;
  bool reversed = false, accumulate = false;
  int64_t panels() const { return (rows + kLanes - 1) / kLanes + 1; } // and one after the last column
};

/// Tests columns that fill a panel, that leave lanes, that lie in memory step by step, from the last one on; and
/// columns that are added to the panel.
TEST(Panels, HoldTheStepsOfColumnsSideBySide) {
  std::vector<Packing> packings;
  for (int64_t rows : {1, 4, 6})
    for (int64_t depth : {3, 4, 9})
      for (bool other : {false, true}) {
        packings.push_back({rows, depth, 11, 1, other ? -2.0 : 1.0, other, false});
        packings.push_back({rows, depth, 2, 13, 0.5, false, other});
        packings.push_back({rows, depth, 10, 1, 1, !other, true});
      }
  constexpr int64_t kSource = 128, kBase = 3;
  constexpr float kBefore = 7;
  int64_t count = kSource;
  for (const Packing &packing : packings)
    count += packing.panels() * packing.depth * kLanes;
  auto got = runEmitted(count, [&](VectorBuilder &b, Value out) {
    fillNumbers(b, out, kSource);
    fill(b, out, kSource, count, kBefore);
    int64_t at = kSource;
    for (const Packing &p : packings) {
      PanelSource source{out, b.index(kBase), p.rowStride, p.depthStride, p.rows, p.depth, p.factor, p.reversed};
      PanelTarget target{out, b.index(at), p.depth * kLanes, 0, p.accumulate, 0};
      b.loop(b.index(0), b.index(p.panels()), 1, [&](Value panel) { fmaEngine().packPanel(b, source, target, panel); });
      at += p.panels() * p.depth * kLanes;
    }
  });
  int64_t at = kSource;
  for (const Packing &p : packings)
    for (int64_t panel = 0; panel < p.panels(); ++panel)
      for (int64_t step = 0; step < p.depth; ++step)
        for (int64_t lane = 0; lane < kLanes; ++lane, ++at) {
          int64_t column = panel * kLanes + lane, row = p.reversed ? p.rows - 1 - column : column;
          float expected = p.accumulate ? kBefore : 0;
          if (column < p.rows)
            expected += numberAt(kBase + row * p.rowStride + step * p.depthStride) * float(p.factor);
          ASSERT_EQ(got[at], expected) << p.rows << " columns, " << p.depth << " steps: panel " << panel << ", step "
                                       << step << ", lane " << lane;
        }
}

/// Tests steps that are packed next to others of the same panel, and lines that are further apart than the lanes.
TEST(Panels, LeaveRoomForOtherSteps) {
  constexpr int64_t kDepth = 5, kFirst = 2, kLine = 6, kTarget = 64;
  auto got = runEmitted(kTarget + 60, [&](VectorBuilder &b, Value out) {
    fillNumbers(b, out, kTarget);
    fill(b, out, kTarget, kTarget + 60, -3);
    PanelSource source{out, b.index(0), kDepth, 1, kLanes, kDepth};
    fmaEngine().packPanel(b, source, {out, b.index(kTarget), 60, kFirst, false, kLine}, b.index(0));
  });
  for (int64_t n = 0; n < 60; ++n) {
    int64_t step = n / kLine - kFirst, lane = n % kLine;
    bool isInside = step >= 0 && step < kDepth && lane < kLanes;
    EXPECT_EQ(got[kTarget + n], isInside ? numberAt(lane * kDepth + step) : -3) << n;
  }
}

/// Vectors wider than the target's are split: the test is about the place of each element.
TEST(Panels, SquaresOfEveryWidthAreTransposed) {
  const std::vector<int64_t> widths = {2, 4, 8, 16};
  constexpr int64_t kSquare = 16 * 16;
  auto got = runEmitted(2 * kSquare * int64_t(widths.size()), [&](VectorBuilder &b, Value out) {
    int64_t at = 0;
    for (int64_t lanes : widths) {
      VectorBuilder wide(b.builder, lanes);
      b.loop(b.index(0), b.index(kSquare), 1, [&](Value n) { b.storeScalar(b.number(n), out, b.add(n, at)); });
      SmallVector<Value> rows;
      for (int64_t row = 0; row < lanes; ++row)
        rows.push_back(wide.load(out, b.index(at + row * lanes)));
      for (auto [column, line] : llvm::enumerate(transposed(wide, rows)))
        wide.store(line, out, b.index(at + kSquare + int64_t(column) * lanes));
      at += 2 * kSquare;
    }
  });
  int64_t at = kSquare;
  for (int64_t lanes : widths) {
    for (int64_t n = 0; n < lanes * lanes; ++n)
      ASSERT_EQ(got[at + n], float(n % lanes * lanes + n / lanes)) << lanes << " lanes, element " << n;
    at += 2 * kSquare;
  }
}

/// Returns rows[r][step] · panels[v][step], row-major.
float productAt(int64_t rowsAt, int64_t rowStride, int64_t panelsAt, int64_t panelStride, int64_t row, int64_t column,
                int64_t from, int64_t to) {
  float sum = 0;
  for (int64_t step = from; step < to; ++step)
    sum += numberAt(rowsAt + row * rowStride + step) *
           numberAt(panelsAt + column / kLanes * panelStride + step * kLanes + column % kLanes);
  return sum;
}

TEST(RegisterTile, MultipliesRowsByPanels) {
  constexpr int64_t kRows = 3, kVectors = 2, kStride = 13, kPanels = 50, kPanelStride = 48, kResult = 160, kMark = 200;
  for (int64_t depth : {1, 4, 11}) {
    auto got = runEmitted(kMark + 16, [&](VectorBuilder &b, Value out) {
      fillNumbers(b, out, kResult);
      fill(b, out, kMark, kMark + 16, 0);
      TileProduct product{
          {0, kRows, 0, kVectors}, depth, {depth}, {out, b.index(5), kStride}, {out, b.index(kPanels), kPanelStride}};
      product.beside = [&](Value step) { b.storeScalar(b.constantScalar(1), out, b.add(step, kMark)); };
      for (auto [n, sum] : llvm::enumerate(fmaEngine().multiply(b, product, {})))
        b.store(sum, out, b.index(kResult + int64_t(n) * kLanes));
    });
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t column = 0; column < kVectors * kLanes; ++column)
        EXPECT_EQ(got[kResult + row * kVectors * kLanes + column],
                  productAt(5, kStride, kPanels, kPanelStride, row, column, 0, depth))
            << depth << " steps, " << row << ", " << column;
    for (int64_t step = 0; step < 16; ++step)
      EXPECT_EQ(got[kMark + step] == 1, step % kStepsOfTurn == 0 && step + kStepsOfTurn <= depth)
          << "what stands beside the product is called once for each whole turn: " << step;
  }
}

/// Emits a buffer of bf16 with numberAt(n) at each place n; bf16 holds these numbers exactly.
Value narrowNumbers(VectorBuilder &b, int64_t count) {
  using namespace mlir;
  Type bf16 = b.builder.getBF16Type();
  Value buffer = memref::AllocaOp::create(b.builder, MemRefType::get({count}, bf16));
  b.loop(b.index(0), b.index(count), 1, [&](Value n) {
    Value number = b.number(b.remainder(b.add(b.mul(n, 37), 11), 29));
    number = b.addf(b.mulf(number, b.constantScalar(0.0625f)), b.constantScalar(-0.875f));
    memref::StoreOp::create(b.builder, arith::TruncFOp::create(b.builder, bf16, number), buffer, n);
  });
  return memref::CastOp::create(b.builder, MemRefType::get({ShapedType::kDynamic}, bf16), buffer);
}

/// Depths that fill vectors of pairs, pairs, and neither; elements that are adjacent and that are not; columns that do
/// not fill their panels.
TEST(Bf16Dot, MultipliesPairsAsTheyAreInMemory) {
  Target target = *findTarget("host");
  target.bf16DotsPerCycle = 8;
  const CpuEngine &engine = engineFor(ElementType::BF16, target);
  if (engine.packsFloats())
    GTEST_SKIP() << "this processor has no AVX512_BF16";
  EXPECT_EQ(engineFor(ElementType::F16, target).packsFloats(), true);
  constexpr int64_t kRows = 3, kColumns = 19, kVectors = 2, kWide = 16, kRowsAt = 5, kColumnsAt = 11;
  for (int64_t depth : {1, 2, 5, 32, 37, 64, 70})
    for (bool adjacent : {true, false}) {
      int64_t stride = adjacent ? depth + 3 : 1, depthStride = adjacent ? 1 : kColumns + 2,
              steps = engine.stepsOf(depth);
      int64_t panelsAt = kRows * steps, panelStride = CpuEngine::panelStride(steps, kWide);
      int64_t resultAt = panelsAt + kVectors * panelStride;
      auto got = runEmitted(
          resultAt + kRows * kVectors * kWide,
          [&](VectorBuilder &b, Value out) {
            Value numbers = narrowNumbers(b, kColumnsAt + (kColumns + 3) * (depth + 3));
            for (int64_t row = 0; row < kRows; ++row)
              engine.packRow(b, {numbers, b.index(kRowsAt + row * stride), depthStride, depth}, out,
                             b.index(row * steps));
            b.loop(b.index(0), b.index(kVectors), 1, [&](Value panel) {
              engine.packPanel(b, {numbers, b.index(kColumnsAt), stride, depthStride, kColumns, depth},
                               {out, b.index(panelsAt), panelStride}, panel);
            });
            TileProduct product{
                {0, kRows, 0, kVectors}, steps, {16}, {out, b.index(0), steps}, {out, b.index(panelsAt), panelStride}};
            product.scale = 0.25;
            engine.multiplyInto(b, product, {out, b.index(resultAt), kVectors * kWide});
          },
          "host");
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t column = 0; column < kVectors * kWide; ++column) {
          float sum = 0;
          for (int64_t d = 0; d < depth && column < kColumns; ++d)
            sum += numberAt(kRowsAt + row * stride + d * depthStride) *
                   numberAt(kColumnsAt + column * stride + d * depthStride);
          ASSERT_EQ(got[resultAt + row * kVectors * kWide + column], 0.25f * sum)
              << depth << " elements, adjacent " << adjacent << ", row " << row << ", column " << column;
        }
    }
}

/// Emits a buffer of i8 with byteAt(n) at each place n.
int8_t byteAt(int64_t n) { return n % 7 == 3 ? int8_t(-128) : int8_t(n * 37 + 11); }
Value bytes(VectorBuilder &b, int64_t count) {
  using namespace mlir;
  Type byte = b.builder.getI8Type();
  Value buffer = memref::AllocaOp::create(b.builder, MemRefType::get({count}, byte));
  Value least = arith::ConstantIntOp::create(b.builder, byte, -128);
  b.loop(b.index(0), b.index(count), 1, [&](Value n) {
    Value number = arith::IndexCastOp::create(b.builder, byte, b.add(b.mul(n, 37), 11));
    Value isLeast = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, b.remainder(n, 7), b.index(3));
    memref::StoreOp::create(b.builder, b.select(isLeast, least, number), buffer, n);
  });
  return memref::CastOp::create(b.builder, MemRefType::get({ShapedType::kDynamic}, byte), buffer);
}

/// Depths that fill vectors of steps, steps, and neither; elements that are adjacent and that are not; columns that do
/// not fill their panels. Sums are exact, as numbers and as integers in memory.
TEST(Int8Dot, MultipliesBytesAsTheyAreInMemory) {
  Target target = *findTarget("host");
  target.int8DotsPerCycle = 8;
  const CpuEngine &engine = engineOfCost(contentEngineFor(ElementType::I8, 64, target));
  if (engine.packsFloats())
    GTEST_SKIP() << "this processor has no AVX512_VNNI";
  constexpr int64_t kRows = 3, kColumns = 19, kVectors = 2, kWide = 16, kRowsAt = 5, kColumnsAt = 11;
  for (int64_t depth : {1, 2, 3, 4, 5, 30, 64, 67, 128, 130})
    for (bool adjacent : {true, false}) {
      int64_t stride = adjacent ? depth + 3 : 1, depthStride = adjacent ? 1 : kColumns + 2,
              steps = engine.stepsOf(depth);
      int64_t panelsAt = kRows * steps, panelStride = CpuEngine::panelStride(steps, kWide);
      int64_t resultAt = panelsAt + kVectors * panelStride, count = kRows * kVectors * kWide;
      auto got = runEmitted(
          resultAt + 2 * count,
          [&](VectorBuilder &b, Value out) {
            Value numbers = bytes(b, kColumnsAt + (kColumns + 3) * (depth + 3));
            for (int64_t row = 0; row < kRows; ++row)
              engine.packRow(b, {numbers, b.index(kRowsAt + row * stride), depthStride, depth}, out,
                             b.index(row * steps));
            b.loop(b.index(0), b.index(kVectors), 1, [&](Value panel) {
              engine.packPanel(b, {numbers, b.index(kColumnsAt), stride, depthStride, kColumns, depth},
                               {out, b.index(panelsAt), panelStride}, panel);
            });
            TileProduct product{{0, kRows, 0, kVectors},
                                steps,
                                {steps},
                                {out, b.index(0), steps},
                                {out, b.index(panelsAt), panelStride}};
            engine.multiplyInto(b, product, {out, b.index(resultAt), kVectors * kWide});
            for (int64_t n = 0; n < count; n += kWide)
              b.store(engine.numbersOf(b, b.load(out, b.index(resultAt + n))), out, b.index(resultAt + n));
            product.scale = 0.25;
            for (auto [n, sum] : llvm::enumerate(engine.multiply(b, product, {})))
              b.store(sum, out, b.index(resultAt + count + int64_t(n) * kWide));
          },
          "host");
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t column = 0; column < kVectors * kWide; ++column) {
          int64_t sum = 0, at = resultAt + row * kVectors * kWide + column;
          for (int64_t d = 0; d < depth && column < kColumns; ++d)
            sum += byteAt(kRowsAt + row * stride + d * depthStride) *
                   byteAt(kColumnsAt + column * stride + d * depthStride);
          ASSERT_EQ(got[at], float(sum)) << depth << " elements, adjacent " << adjacent << ", row " << row
                                         << ", column " << column;
          ASSERT_EQ(got[at + count], 0.25f * float(sum)) << depth << " elements, row " << row << ", column " << column;
        }
    }
}

/// Returns the sum of `numbers` in lane 0, summed in this way, as a tile of one vector.
float summedUp(const std::vector<float> &numbers,
               const std::function<SmallVector<Value>(VectorBuilder &, int64_t depth, Value held,
                                                      llvm::ArrayRef<Value> places, const ProductsOfSteps &)> &way) {
  auto depth = int64_t(numbers.size());
  auto got = runEmitted(depth + 2 * kLanes, [&](VectorBuilder &b, Value out) {
    for (auto [n, number] : llvm::enumerate(numbers))
      b.storeScalar(b.constantScalar(number), out, b.index(int64_t(n)));
    ProductsOfSteps products = [&](const TilePart &, Value first, int64_t steps, SmallVector<Value> start) {
      return b.loop(first, b.add(first, steps), 1, start, [&](Value step, ValueRange before) {
        return SmallVector<Value>{b.addf(before[0], b.loadBroadcast(out, step))};
      });
    };
    Value held = b.index(depth);
    SmallVector<Value> sums = way(b, depth, out, held, products);
    b.store(sums[0], out, b.index(depth + kLanes));
  });
  return got[depth + kLanes];
}

const TilePart kOneVector{0, 1, 0, 1};
float inChunks(const std::vector<float> &numbers, Summation summation) {
  return summedUp(numbers, [&](VectorBuilder &b, int64_t depth, Value held, llvm::ArrayRef<Value> places,
                               const ProductsOfSteps &products) {
    return sumInChunks(b, kOneVector, depth, summation, held, places, products);
  });
}

/// In f32, 2^24 + 1 is 2^24 and 2^24 + 4 is not: a part that is summed by itself is not lost.
TEST(Summation, ChunksAreSummedUpByThemselves) {
  std::vector<float> numbers(14, 1);
  numbers[0] = 0x1p24f;
  EXPECT_EQ(inChunks(numbers, {14}), 0x1p24f);
  EXPECT_EQ(inChunks(numbers, {1}), 0x1p24f);
  EXPECT_EQ(inChunks(numbers, {4}), 0x1p24f + 4 + 4 + 2) << "the last chunk has two";
  EXPECT_EQ(inChunks(numbers, {7}), 0x1p24f + 8) << "7, rounded to even";
}
/// If the rounding error of each addition is kept, only the last addition loses something.
TEST(Summation, CompensatedSumsKeepWhatRoundingTakes) {
  std::vector<float> numbers(14, 1);
  numbers[0] = 0x1p24f;
  EXPECT_EQ(inChunks(numbers, {1, true}), 0x1p24f + 12) << "13 are between 12 and 14";
  EXPECT_EQ(inChunks(numbers, {3, true}), 0x1p24f + 12);
  numbers.push_back(-0x1p24f);
  EXPECT_EQ(inChunks(numbers, {1, true}), 13);
}
TEST(Summation, CompensatedSumsOfInfinitiesAreWhatSumsAre) {
  const float inf = INFINITY;
  EXPECT_EQ(inChunks({1, inf, 2, 3}, {1, true}), inf);
  EXPECT_EQ(inChunks({1, -inf, 2, 3}, {1, true}), -inf);
  EXPECT_TRUE(std::isnan(inChunks({1, inf, -inf, 3}, {1, true})));
  EXPECT_TRUE(std::isnan(inChunks({1, NAN, 2, 3}, {1, true})));
}

TEST(Summation, ChainsAreEquallyLongAndLeaveNothingOut) {
  auto inChains = [](const std::vector<float> &numbers) {
    return summedUp(numbers, [&](VectorBuilder &b, int64_t depth, Value held, llvm::ArrayRef<Value> places,
                                 const ProductsOfSteps &products) {
      return multiplyInChains(b, kOneVector, depth, held, places, products);
    });
  };
  for (int64_t depth : {kChain - 1, kChain, kChain + 1, 2 * kChain + 3})
    EXPECT_EQ(inChains(std::vector<float>(depth, 1)), float(depth));
  std::vector<float> numbers(2 * kChain, 1);
  numbers[0] = 0x1p24f;
  EXPECT_EQ(inChains(numbers), 0x1p24f + kChain) << "of two chains the second one is not lost";
}

TEST(Summation, ProductsGoWhereTheyBelong) {
  constexpr int64_t kRows = 2, kVectors = 2, kDepth = 10, kStride = 12, kPanels = 30, kPanelStride = 44, kResult = 128,
                    kResultStride = 11;
  auto got = runEmitted(kResult + 2 * kResultStride, [&](VectorBuilder &b, Value out) {
    fillNumbers(b, out, kResult);
    fill(b, out, kResult, kResult + 2 * kResultStride, -5);
    fmaEngine().multiplyInto(
        b, {{0, kRows, 0, kVectors}, kDepth, {4}, {out, b.index(0), kStride}, {out, b.index(kPanels), kPanelStride}},
        {out, b.index(kResult), kResultStride});
  });
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kResultStride; ++column)
      EXPECT_EQ(got[kResult + row * kResultStride + column],
                column < kVectors * kLanes ? productAt(0, kStride, kPanels, kPanelStride, row, column, 0, kDepth) : -5)
          << row << ", " << column;
}

/// Multiplies two rows by one vector of values with NaN; the weight of the second row is 0.
std::vector<float> weighed(bool tested) {
  return runEmitted(2 * kLanes, [&](VectorBuilder &b, Value out) {
    SmallVector<Value> sums(2, b.constant(1)), values{b.constant(NAN)};
    values[0] =
        b.select(mlir::arith::CmpIOp::create(b.builder, mlir::arith::CmpIPredicate::eq, laneNumbers(b), integer(b, 2)),
                 values[0], b.constant(3));
    std::function<Value(Value)> isSeen = [&](Value weight) {
      return b.compare(mlir::arith::CmpFPredicate::ONE, weight, b.constantScalar(0));
    };
    addWeighted(
        b, 2, values, [&](int64_t row) { return b.constantScalar(row == 0 ? 2 : 0); },
        tested ? isSeen : std::function<Value(Value)>(), sums);
    b.store(sums[0], out, b.index(0));
    b.store(sums[1], out, b.index(kLanes));
  });
}
TEST(WeightedSums, WhatIsNotSeenAddsNothing) {
  for (bool tested : {false, true}) {
    std::vector<float> got = weighed(tested);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      EXPECT_TRUE(lane == 2 ? std::isnan(got[lane]) : got[lane] == 7) << "a weight that is seen brings NaN along";
      EXPECT_TRUE(lane == 2 && !tested ? std::isnan(got[kLanes + lane]) : got[kLanes + lane] == 1) << lane;
    }
  }
}
} // namespace
