// Emits, compiles and runs conversions between f32 and numbers of 16 and 8 bits: every such number, and every case of
// rounding to one.
#include "passes/Emit/NarrowFloats.h"
#include "EmittedTesting.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <xmmintrin.h>

using namespace skewer;
using mlir::Value;
using skewer::testing::asFloat;
using skewer::testing::asNumber;
using skewer::testing::runEmitted;
namespace arith = mlir::arith;

namespace {
constexpr int64_t kNumbers = 1 << 16;

/// Returns the bits of the f32 for each number of 16 bits.
std::vector<float> allWidened(const std::function<mlir::Type(mlir::Builder &)> &typeOf) {
  return runEmitted(kNumbers, [&](VectorBuilder &b, Value out) {
    b.loop(b.index(0), b.index(kNumbers), 1, [&](Value n) {
      Value bits = arith::IndexCastOp::create(b.builder, b.builder.getI16Type(), n);
      Value number = arith::BitcastOp::create(b.builder, typeOf(b.builder), bits);
      b.storeScalar(widened(b.builder, number), out, n);
    });
  });
}

TEST(NarrowFloats, EveryBf16IsTheUpperHalfOfAFloat) {
  std::vector<float> got = allWidened([](mlir::Builder &b) { return b.getBF16Type(); });
  for (int64_t n = 0; n < kNumbers; ++n)
    ASSERT_EQ(llvm::bit_cast<uint32_t>(got[n]), uint32_t(n) << 16) << n;
}

/// Returns the number by the definition of IEEE 754: sign, 5 bits of exponent, 10 of the fraction.
double meaningOfF16(int64_t bits) {
  int64_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent     ? std::ldexp(1024 + double(fraction), int(exponent) - 25)
                               : std::ldexp(double(fraction), -24);
  return bits >> 15 ? -size : size;
}

/// Returns whether a float has the value and the sign of a number, which may be NaN.
bool isNumber(float got, double number) {
  bool isSame = std::isnan(number) ? std::isnan(got) : got == number;
  return isSame && std::signbit(got) == std::signbit(number);
}

TEST(NarrowFloats, EveryF16IsWhatItsBitsSay) {
  std::vector<float> got = allWidened([](mlir::Builder &b) { return b.getF16Type(); });
  for (int64_t n = 0; n < kNumbers; ++n)
    ASSERT_TRUE(isNumber(got[n], meaningOfF16(n))) << n << ": " << got[n];
}

/// Returns the number of an E4M3 of the Open Compute Project: sign, 4 bits of exponent, 3 of the fraction.
double meaningOfF8(int64_t bits) {
  int64_t exponent = bits >> 3 & 15, fraction = bits & 7;
  double size = (bits & 127) == 127 ? NAN
                : exponent          ? std::ldexp(8 + double(fraction), int(exponent) - 10)
                                    : std::ldexp(double(fraction), -9);
  return bits >> 7 ? -size : size;
}

/// The processor takes subnormal f32 for 0 here. No number of E4M3 may depend on that.
TEST(NarrowFloats, EveryF8IsWhatItsBitsSay) {
  constexpr int64_t kBytes = 256;
  auto run = [&](bool vectors, const char *target) {
    return runEmitted(kBytes, [&](VectorBuilder &b, Value out) {
      mlir::Type byte = b.builder.getI8Type(), narrow = mlir::Float8E4M3FNType::get(b.builder.getContext());
      b.loop(b.index(0), b.index(kBytes), 1, [&](Value n) {
        Value bits = arith::IndexCastOp::create(b.builder, byte, n);
        if (!vectors)
          return b.storeScalar(widened(b.builder, arith::BitcastOp::create(b.builder, narrow, bits)), out, n);
        mlir::Type all = mlir::VectorType::get({b.lanes}, byte), ofNarrow = mlir::VectorType::get({b.lanes}, narrow);
        Value wide = arith::BitcastOp::create(b.builder, ofNarrow,
                                              mlir::vector::BroadcastOp::create(b.builder, all, bits));
        b.storeScalar(mlir::vector::ExtractOp::create(b.builder, widened(b.builder, wide), b.lanes - 1), out, n);
      });
    }, target);
  };
  for (auto [vectors, target] : {std::pair(false, "x86-64-v2"), {true, "x86-64-v2"}, {true, "x86-64-v3"}}) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); // subnormal operands and results are 0
    std::vector<float> got = run(vectors, target);
    _mm_setcsr(before);
    for (int64_t n = 0; n < kBytes; ++n)
      EXPECT_TRUE(isNumber(got[n], meaningOfF8(n))) << n << ": " << got[n];
  }
}

/// Returns the bits of the float of these bits, rounded to a narrow type.
std::vector<float> rounded(const std::vector<uint32_t> &lower,
                           const std::function<mlir::Type(mlir::Builder &)> &typeOf) {
  auto each = int64_t(lower.size());
  return runEmitted(kNumbers * each, [&](VectorBuilder &b, Value out) {
    b.loop(b.index(0), b.index(kNumbers), 1, [&](Value n) {
      for (auto [k, low] : llvm::enumerate(lower)) {
        Value bits = arith::IndexCastOp::create(b.builder, b.builder.getI32Type(), b.add(b.mul(n, kNumbers), low));
        Value number = arith::BitcastOp::create(b.builder, b.f32, bits);
        Value narrow = narrowed(b.builder, number, typeOf(b.builder));
        Value word = arith::BitcastOp::create(b.builder, b.builder.getI16Type(), narrow);
        word = arith::ExtUIOp::create(b.builder, b.builder.getI32Type(), word);
        b.storeScalar(asFloat(b, word), out, b.add(b.mul(n, each), int64_t(k)));
      }
    });
  });
}

/// Returns the nearest bf16, as float: the nearer of its two neighbours, or the even one if both are equally near. The
/// neighbour above the largest number is 2^128.
float nearestBf16(float x) {
  uint32_t toZero = llvm::bit_cast<uint32_t>(x) & 0xffff0000u;
  auto sizeOf = [](uint32_t bits) {
    return (bits & 0x7fffffffu) == 0x7f800000u ? 0x1p128 : std::fabs(llvm::bit_cast<float>(bits));
  };
  double near = std::fabs(double(x)) - sizeOf(toZero), far = sizeOf(toZero + 0x10000u) - std::fabs(double(x));
  bool isEven = (toZero & 0x10000u) == 0;
  return llvm::bit_cast<float>(near < far || (near == far && isEven) ? toZero : toZero + 0x10000u);
}

TEST(NarrowFloats, Bf16IsTheNearestOne) {
  const std::vector<uint32_t> lower = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  std::vector<float> got = rounded(lower, [](mlir::Builder &b) { return b.getBF16Type(); });
  for (int64_t n = 0; n < kNumbers; ++n)
    for (auto [k, low] : llvm::enumerate(lower)) {
      auto x = llvm::bit_cast<float>(uint32_t(n) << 16 | low);
      auto y = llvm::bit_cast<float>(uint32_t(asNumber(got[size_t(n) * lower.size() + k])) << 16);
      if (std::isnan(x))
        ASSERT_TRUE(std::isnan(y)) << n << " " << low << ": a NaN of any bits stays one";
      else if (std::isinf(x))
        ASSERT_EQ(y, x);
      else
        ASSERT_EQ(llvm::bit_cast<uint32_t>(y), llvm::bit_cast<uint32_t>(nearestBf16(x))) << x;
    }
}

/// The distance is at most half a step, and a conversion there and back changes nothing.
TEST(NarrowFloats, F16IsANearestOne) {
  const std::vector<uint32_t> lower = {0, 0x1000, 0x3000, 0xe000};
  std::vector<float> got = rounded(lower, [](mlir::Builder &b) { return b.getF16Type(); });
  for (int64_t n = 0; n < kNumbers; ++n)
    for (auto [k, low] : llvm::enumerate(lower)) {
      auto x = llvm::bit_cast<float>(uint32_t(n) << 16 | low);
      double y = meaningOfF16(asNumber(got[size_t(n) * lower.size() + k]));
      double size = std::fabs(double(x));
      if (std::isnan(x))
        ASSERT_TRUE(std::isnan(y));
      else if (size >= 65520) // half a step above the largest one, 65504
        ASSERT_EQ(y, std::copysign(INFINITY, x));
      else
        ASSERT_LE(std::fabs(y - x),
                  std::max(std::ldexp(1.0, -25), std::ldexp(1.0, std::ilogb(std::max(size, 1e-30)) - 11)))
            << x;
    }
}

TEST(NarrowFloats, WhatHasTheTypeStaysAsItIs) {
  runEmitted(1, [&](VectorBuilder &b, Value out) {
    Value wide = b.constantScalar(1), vector = b.constant(2);
    EXPECT_EQ(widened(b.builder, wide), wide);
    EXPECT_EQ(widened(b.builder, vector), vector);
    EXPECT_EQ(narrowed(b.builder, vector, b.f32), vector);
    Value narrow = narrowed(b.builder, vector, b.builder.getBF16Type());
    EXPECT_EQ(narrow.getType(), mlir::VectorType::get({b.lanes}, b.builder.getBF16Type()));
    EXPECT_EQ(narrowed(b.builder, narrow, b.builder.getBF16Type()), narrow);
    EXPECT_EQ(widened(b.builder, narrow).getType(), b.vector);
    b.storeScalar(wide, out, b.index(0));
  });
}
} // namespace
