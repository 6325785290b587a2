// Emits functions of vectors. Arguments are reduced as in Cody and Waite 1980, chapter 6.
#include "passes/Emit/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Emit/Polynomials.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::polynomials;

using Predicate = arith::CmpFPredicate;

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
  Value power = b.exp(atMost(b, x, kHighest), /*large=*/true), highest = b.constant(kHighest);
  return b.select(b.compare(Predicate::OGE, x, highest), b.constant(std::numeric_limits<float>::infinity()), power);
}

Value skewer::vectorTanh(VectorBuilder &b, Value x) {
  Value inside = atMost(b, math::AbsFOp::create(b.builder, x), kTanhIsOne);
  VectorBuilder::Multiple less = b.nearestMultiple(inside, -kTwoPerLn2); // -n
  Value rest = b.fma(less.whole, b.constant(kHalfLn2), inside), power = b.powerOfTwo(less);
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
  Value far = math::CopySignOp::create(b.builder, b.subf(b.constant(1), b.exp(exponent)), x);
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
