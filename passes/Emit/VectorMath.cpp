// Emits functions of vectors. Arguments are reduced as in Cody and Waite 1980, chapter 6.
#include "passes/Emit/VectorMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/Polynomials.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::polynomials;

using Predicate = arith::CmpFPredicate;

/// Returns whether one instruction multiplies by a power of two (AVX-512).
static bool canScale(const VectorBuilder &b) { return b.lanes == 16; }
/// Returns whether a product and a sum are rounded once. Vectors of four belong to x86-64-v2, which has no FMA.
static bool hasFma(const VectorBuilder &b) { return b.lanes > 4; }

// x > other ? x : other is exactly vmaxps with `other` as the second operand.
Value skewer::larger(VectorBuilder &b, Value x, Value other) {
  return b.select(b.compare(arith::CmpFPredicate::OGT, x, other), x, other);
}
Value skewer::smaller(VectorBuilder &b, Value x, Value other) {
  return b.select(b.compare(arith::CmpFPredicate::OLT, x, other), x, other);
}

Value skewer::reduceAdd(VectorBuilder &b, Value x) {
  return vector::ReductionOp::create(b.builder, vector::CombiningKind::ADD, x, arith::FastMathFlags::reassoc);
}
Value skewer::reduceMax(VectorBuilder &b, Value x) {
  for (int64_t half = b.lanes / 2; half > 0; half /= 2) {
    auto part = [&](int64_t first) -> Value {
      return vector::ExtractStridedSliceOp::create(b.builder, x, first, half, 1);
    };
    x = larger(b, part(half), part(0));
  }
  return vector::ExtractOp::create(b.builder, x, 0);
}

/// Returns x · 2^whole in the lanes that are set in `mask`, and 0 in others; in all lanes if `mask` is null.
static Value scaled(VectorBuilder &b, Value x, Value whole, Value mask) {
  Type i16 = b.builder.getI16Type(), i32 = b.builder.getI32Type();
  Value word = arith::ConstantIntOp::create(b.builder, i16, -1);
  if (mask)
    word = vector::ExtractOp::create(
        b.builder, vector::BitCastOp::create(b.builder, VectorType::get({1}, i16), mask).getResult(), 0);
  Value rounding =
      arith::ConstantIntOp::create(b.builder, i32, 4); // the rounding mode of the thread's control register
  return LLVM::CallIntrinsicOp::create(b.builder, b.vector,
                                       b.builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                       ValueRange{x, whole, b.constant(0), word, rounding})
      .getResult(0);
}

// 1.5·2^23: a float of this size has no fraction, and its low bits hold an integer.
static constexpr float kRounds = 0x1.8p23f;

namespace {
/// The nearest whole number to x × inverse, which is within ±2^22, and the bits that the rounding leaves.
struct Multiple {
  Value whole, rounded;
};
} // namespace

static Multiple nearestMultiple(VectorBuilder &b, Value x, float inverse) {
  Value rounded = b.fma(x, b.constant(inverse), b.constant(kRounds));
  return {arith::SubFOp::create(b.builder, rounded, b.constant(kRounds)), rounded};
}

/// Returns the integer of a multiple, shifted to the exponent bits of a float.
static Value asExponent(VectorBuilder &b, const Multiple &multiple) {
  Value bits = arith::BitcastOp::create(b.builder, b.integers, multiple.rounded);
  return arith::ShLIOp::create(b.builder, bits, integer(b, 23));
}

/// Returns 2^whole, which must be a normal number.
static Value powerOfTwo(VectorBuilder &b, const Multiple &multiple) {
  if (canScale(b))
    return scaled(b, b.constant(1), multiple.whole, {});
  Value bits = arith::AddIOp::create(b.builder, asExponent(b, multiple), integer(b, 0x3f800000));
  return arith::BitcastOp::create(b.builder, b.vector, bits);
}

static constexpr float kLowestWeight = -87.3365448f; // its exponential is the smallest normal number

namespace {
/// x = (k + j/16)·ln 2 + rest, where |rest| is at most ln 2 / 32, for whole k and 0 <= j < 16.
struct Sixteenth {
  Value sixteenths; // k + j/16
  Value power;      // 2^(j/16)
  Value rest;
};
} // namespace

/// Takes a number apart. A permutation reads its bits modulo 16, so that one instruction looks up 2^(j/16).
static Sixteenth nearestSixteenth(VectorBuilder &b, Value x) {
  constexpr float kRoundsSixteenths = 0x1.8p19f; // a float of this size has four bits for its fraction
  SmallVector<float> powers;
  for (int j = 0; j < 16; ++j)
    powers.push_back(static_cast<float>(std::exp2(j / 16.0)));
  Value table = arith::ConstantOp::create(
      b.builder, DenseElementsAttr::get(cast<ShapedType>(b.vector), llvm::ArrayRef<float>(powers)));
  Value rounded = b.fma(x, b.constant(1.44269502f), b.constant(kRoundsSixteenths));
  Value sixteenths = b.subf(rounded, b.constant(kRoundsSixteenths));
  Value bits = arith::BitcastOp::create(b.builder, b.integers, rounded);
  return {sixteenths, permute(b, table, bits), b.fma(sixteenths, b.constant(-0.693147182f), x)};
}

/// Returns the exponential of the number that was taken apart, where `x` is at least `kLowestWeight`, else 0.
/// `excess` is e^rest - 1. The instruction that scales takes the whole part of its second operand.
static Value joined(VectorBuilder &b, const Sixteenth &parts, Value excess, Value x) {
  return scaled(b, b.fma(parts.power, excess, parts.power), parts.sixteenths,
                b.compare(Predicate::UGE, x, b.constant(kLowestWeight)));
}

/// The coefficients minimise the largest relative error, with e^0 = 1; the polynomial itself is exact to 2e-9.
static Value expBySixteenths(VectorBuilder &b, Value x) {
  Sixteenth parts = nearestSixteenth(b, x);
  Value factor = b.fma(parts.rest, b.constant(0x1.555556p-3f), b.constant(0x1.00021p-1f));
  return joined(b, parts, b.mulf(b.fma(factor, parts.rest, b.constant(1)), parts.rest), x);
}

// The coefficients minimise the largest relative error (Remez by weighted least squares, rounded one after another).
Value skewer::expOfWeight(VectorBuilder &b, Value x, bool large) {
  if (canScale(b) && !large)
    return expBySixteenths(b, x);
  Value low = b.constant(kLowestWeight), inside = x;
  // Clamp x so that the exponent below stays in range. The comparison keeps a NaN in x.
  if (!canScale(b))
    inside = b.select(b.compare(arith::CmpFPredicate::OLT, x, low), low, x);
  Multiple multiple = nearestMultiple(b, inside, 1.44269502f); // the multiple of ln 2
  Value rest;
  // Subtract ln 2 in two parts. The first has so few bits that its multiples are exact. Without FMA, a multiple of ln 2
  // in one part would be rounded before the subtraction.
  if (large || !hasFma(b))
    rest = b.fma(multiple.whole, b.constant(2.12194440e-4f), b.fma(multiple.whole, b.constant(-0.693359375f), inside));
  else
    rest = b.fma(multiple.whole, b.constant(-0.693147182f), inside);
  Value power = b.constant(0x1.6a4748p-10f); // the exponential of the rest, by Horner's scheme
  for (float c : {0x1.1239a2p-7f, 0x1.5558b6p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1.0f, 1.0f})
    power = b.fma(power, rest, b.constant(c));
  if (canScale(b))
    return scaled(b, power, multiple.whole, b.compare(arith::CmpFPredicate::UGE, x, low));
  Value bits =
      arith::AddIOp::create(b.builder, arith::BitcastOp::create(b.builder, b.integers, power), asExponent(b, multiple));
  power = arith::BitcastOp::create(b.builder, b.vector, bits);
  // A masked key has weight exactly 0. An unordered comparison would hide a NaN; this ordered one keeps it.
  power = b.select(b.compare(arith::CmpFPredicate::OLT, x, low), b.constant(0), power);
  return b.select(b.compare(arith::CmpFPredicate::UNO, x, x), x, power);
}

Value skewer::expOfRoundedWeight(VectorBuilder &b, Value x) {
  if (!canScale(b))
    return expOfWeight(b, x);
  Sixteenth parts = nearestSixteenth(b, x);
  return joined(b, parts, parts.rest, x);
}

/// Returns the minimum of x and the limit; a NaN in x stays.
static Value atMost(VectorBuilder &b, Value x, float limit) {
  Value high = b.constant(limit);
  return b.select(b.compare(Predicate::OGT, x, high), high, x);
}

/// Returns coefficients[0] + u × (coefficients[1] + u × (…)).
static Value polynomial(VectorBuilder &b, Value u, llvm::ArrayRef<float> coefficients) {
  Value sum = b.constant(coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = b.fma(sum, u, b.constant(coefficient));
  return sum;
}

Value skewer::vectorExp(VectorBuilder &b, Value x) {
  constexpr float kHighest = 88.7228394f; // the smallest number whose exponential is infinite
  Value power = expOfWeight(b, atMost(b, x, kHighest), /*large=*/true), highest = b.constant(kHighest);
  return b.select(b.compare(Predicate::OGE, x, highest), b.constant(std::numeric_limits<float>::infinity()), power);
}

Value skewer::vectorTanh(VectorBuilder &b, Value x) {
  Value inside = atMost(b, math::AbsFOp::create(b.builder, x), kTanhIsOne);
  Multiple less = nearestMultiple(b, inside, -kTwoPerLn2); // -n
  Value rest = b.fma(less.whole, b.constant(kHalfLn2), inside), power = powerOfTwo(b, less);
  Value linear = b.fma(rest, b.constant(2), b.subf(b.constant(1), power));
  Value difference = b.fma(b.mulf(rest, rest), polynomial(b, rest, kTanhExcess), linear);
  Value sum = b.fma(power, b.constant(2), difference);
  return math::CopySignOp::create(b.builder, b.divf(difference, sum), x);
}

Value skewer::vectorErf(VectorBuilder &b, Value x) {
  Value size = math::AbsFOp::create(b.builder, x), inside = atMost(b, size, kErfIsOne);
  // Without FMA, a part of a tiny number would underflow in f32, so tiny numbers are scaled up in between.
  constexpr float kTiny = 0x1p-100f, kLarger = 0x1p64f;
  Value isTiny = b.compare(Predicate::OLT, size, b.constant(kTiny));
  Value held = b.select(isTiny, b.mulf(x, b.constant(kLarger)), x);
  Value near = b.fma(polynomial(b, b.mulf(x, x), kErfNear), held, held);
  near = b.select(isTiny, b.mulf(near, b.constant(1 / kLarger)), near);
  Value exponent = b.fma(polynomial(b, inside, kErfFar), inside, arith::NegFOp::create(b.builder, inside));
  Value far = math::CopySignOp::create(b.builder, b.subf(b.constant(1), expOfWeight(b, exponent)), x);
  return b.select(b.compare(Predicate::OGT, size, b.constant(kErfIsFar)), far, near);
}

Value skewer::vectorFunction(VectorBuilder &b, Operation *op, ValueRange operands) {
  if (operands.empty() || operands[0].getType() != b.vector)
    return {};
  if (isa<math::ExpOp>(op))
    return vectorExp(b, operands[0]);
  if (isa<math::TanhOp>(op))
    return vectorTanh(b, operands[0]);
  if (isa<math::ErfOp>(op))
    return vectorErf(b, operands[0]);
  return {};
}
