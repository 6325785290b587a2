// Emits, compiles and runs the vocabulary of the CPU kernels: arithmetic with its rounding and comparisons, and
// accesses to memory, which touch nothing else.
#include "EmittedTesting.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/VectorMath.h"
#include <cmath>

using namespace skewer;
using skewer::testing::asFloat;
using skewer::testing::asNumber;
using skewer::testing::kLanes;
using skewer::testing::runEmitted;

namespace {

/// Writes a vector of these numbers.
mlir::Value vectorOf(VectorBuilder &b, std::vector<float> numbers) {
  return mlir::arith::ConstantOp::create(b.builder,
                                         mlir::DenseElementsAttr::get(b.vector, llvm::ArrayRef<float>(numbers)));
}

TEST(VectorBuilder, IndexArithmeticRoundsDown) {
  // It uses a loop, so that nothing is folded during emission.
  std::vector<float> got = runEmitted(6 * 41, [](VectorBuilder &b, mlir::Value out) {
    b.loop(b.index(0), b.index(41), 1, [&](mlir::Value n) {
      mlir::Value x = b.add(n, -20), row = b.mul(n, 6);
      mlir::Value results[] = {b.floorDiv(x, 7),  b.floorDiv(x, 8),         b.divide(n, 7),
                               b.remainder(n, 7), b.minimum(x, b.index(3)), b.maximum(x, b.index(-3))};
      for (int64_t k = 0; k < 6; ++k)
        b.storeScalar(asFloat(b, results[k]), out, b.add(row, k));
    });
  });
  for (int32_t n = 0; n < 41; ++n) {
    int32_t x = n - 20;
    EXPECT_EQ(asNumber(got[n * 6]), int32_t(std::floor(x / 7.0)));
    EXPECT_EQ(asNumber(got[n * 6 + 1]), int32_t(std::floor(x / 8.0)));
    EXPECT_EQ(asNumber(got[n * 6 + 2]), n / 7);
    EXPECT_EQ(asNumber(got[n * 6 + 3]), n % 7);
    EXPECT_EQ(asNumber(got[n * 6 + 4]), std::min(x, 3));
    EXPECT_EQ(asNumber(got[n * 6 + 5]), std::max(x, -3));
  }
}

TEST(VectorBuilder, NaNComesThrough) {
  std::vector<float> got = runEmitted(5 * kLanes, [](VectorBuilder &b, mlir::Value out) {
    mlir::Value x = vectorOf(b, {1, NAN, -2, INFINITY}), y = vectorOf(b, {3, 5, NAN, INFINITY});
    b.store(b.addf(x, y), out, b.index(0));
    b.store(b.subf(x, y), out, b.index(kLanes));
    b.store(b.mulf(x, b.constant(0)), out, b.index(2 * kLanes));
    b.store(b.fma(x, y, b.constant(1)), out, b.index(3 * kLanes));
    b.store(larger(b, x, y), out, b.index(4 * kLanes));
  });
  EXPECT_EQ(got[0], 4);
  EXPECT_TRUE(std::isnan(got[1]) && std::isnan(got[2]));
  EXPECT_TRUE(std::isnan(got[7])) << "infinity less infinity";
  EXPECT_EQ(got[8], 0);
  EXPECT_TRUE(std::isnan(got[9]) && std::isnan(got[11])) << "0 times what is no number";
  EXPECT_EQ(got[12], 4);
  EXPECT_TRUE(std::isnan(got[13]) && std::isnan(got[14]));
  EXPECT_EQ(got[16], 3);
  EXPECT_EQ(got[17], 5) << "of a NaN in x the running maximum keeps the number";
}

TEST(VectorBuilder, PartsOfVectorsTouchTheirPartOnly) {
  for (int64_t count = 1; count < kLanes; ++count) {
    std::vector<float> got = runEmitted(3 * kLanes, [&](VectorBuilder &b, mlir::Value out) {
      for (int64_t k = 0; k < 3 * kLanes; ++k)
        b.storeScalar(b.constantScalar(float(k)), out, b.index(k));
      b.storeFirst(b.constant(99), out, b.index(1), count);
      b.store(b.loadFirst(out, b.index(0), count), out, b.index(2 * kLanes));
    });
    for (int64_t k = 0; k < 2 * kLanes; ++k)
      EXPECT_EQ(got[k], k >= 1 && k <= count ? 99 : float(k)) << count << " lanes";
    for (int64_t k = 0; k < kLanes; ++k)
      EXPECT_EQ(got[2 * kLanes + k], k >= count ? 0 : k == 0 ? 0 : 99) << count << " lanes";
  }
}

TEST(VectorBuilder, GathersReadNoMaskedLane) {
  std::vector<float> got = runEmitted(4 * kLanes, [](VectorBuilder &b, mlir::Value out) {
    for (int64_t k = 0; k < kLanes; ++k)
      b.storeScalar(b.constantScalar(10 + float(k)), out, b.index(k));
    auto integers = [&](llvm::ArrayRef<int32_t> values) -> mlir::Value {
      return mlir::arith::ConstantOp::create(b.builder, mlir::DenseElementsAttr::get(b.integers, values));
    };
    b.store(gather(b, out, b.index(0), integers({3, 0, 0, 2})), out, b.index(kLanes));
    b.store(gather(b, out, b.index(1), integers({2, -1, 0, 1})), out, b.index(2 * kLanes));
    // Masked elements are a gigabyte away, so that a read of them would fail.
    mlir::Value mask = mlir::arith::ConstantOp::create(
        b.builder, mlir::DenseElementsAttr::get(mlir::VectorType::get({kLanes}, b.builder.getI1Type()),
                                                llvm::ArrayRef<bool>{true, false, true, false}));
    b.store(gather(b, out, b.index(0), integers({1, 1 << 28, 2, -(1 << 28)}), mask), out, b.index(3 * kLanes));
  });
  EXPECT_EQ(std::vector<float>(got.begin() + kLanes, got.end()),
            (std::vector<float>{13, 10, 10, 12, 13, 10, 11, 12, 11, 0, 12, 0}));
}

TEST(VectorBuilder, ReductionsAndLanes) {
  std::vector<float> got = runEmitted(kLanes + 4, [](VectorBuilder &b, mlir::Value out) {
    b.store(asFloat(b, laneNumbers(b)), out, b.index(0));
    mlir::Value x = vectorOf(b, {1, -8, 4, 2});
    b.storeScalar(reduceAdd(b, x), out, b.index(kLanes));
    b.storeScalar(reduceMax(b, x), out, b.index(kLanes + 1));
    mlir::Value table = integerTable(b, {7, -5, 9});
    b.storeScalar(asFloat(b, tableElement(b, table, b.index(1))), out, b.index(kLanes + 2));
    b.storeScalar(b.number(b.index(-3)), out, b.index(kLanes + 3));
  });
  for (int32_t lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(asNumber(got[lane]), lane);
  EXPECT_EQ(got[kLanes], -1);
  EXPECT_EQ(got[kLanes + 1], 4);
  EXPECT_EQ(asNumber(got[kLanes + 2]), -5);
  EXPECT_EQ(got[kLanes + 3], -3);
}

TEST(VectorBuilder, LoopsCarryAndStop) {
  std::vector<float> got = runEmitted(4, [](VectorBuilder &b, mlir::Value out) {
    auto sum = b.loop(b.index(1), b.index(10), 3, {b.constantScalar(0)}, [&](mlir::Value n, mlir::ValueRange carried) {
      return llvm::SmallVector<mlir::Value>{b.addf(carried[0], b.number(n))};
    });
    b.storeScalar(sum[0], out, b.index(0)); // 1 + 4 + 7
    auto none = b.loop(b.index(5), b.index(5), 1, {b.constantScalar(2)}, [&](mlir::Value, mlir::ValueRange) {
      return llvm::SmallVector<mlir::Value>{b.constantScalar(3)};
    });
    b.storeScalar(none[0], out, b.index(1));
    b.loop(b.index(0), b.index(4), 1, [&](mlir::Value n) {
      b.when(
          b.less(n, b.index(2)), [&] { b.storeScalar(b.number(n), out, b.index(2)); },
          [&] { b.storeScalar(b.number(n), out, b.index(3)); });
    });
  });
  EXPECT_EQ(got, (std::vector<float>{12, 2, 1, 3}));
}
} // namespace
