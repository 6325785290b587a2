// Argument reduction by Cody and Waite 1980, chapter 6; the coefficients of tanh minimise the largest relative error
// (weighted least squares, Lawson 1961).
#include "passes/Emit/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace skewer;

using Predicate = arith::CmpFPredicate;

/// Written so that a NaN in x stays.
static Value atMost(VectorBuilder &b, Value x, float limit) {
  Value high = b.constant(limit);
  return b.select(b.compare(Predicate::OGT, x, high), high, x);
}
static Value atLeast(VectorBuilder &b, Value x, float limit) {
  Value low = b.constant(limit);
  return b.select(b.compare(Predicate::OLT, x, low), low, x);
}

/// coefficients[0] + u × (coefficients[1] + u × (…))
static Value polynomial(VectorBuilder &b, Value u, llvm::ArrayRef<float> coefficients) {
  Value sum = b.constant(coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = b.fma(sum, u, b.constant(coefficient));
  return sum;
}

Value skewer::vectorExp(VectorBuilder &b, Value x) {
  constexpr float kLowest = -87.3365448f, kHighest = 88.7228394f; // the least normal result, the first infinite one
  Value inside = atMost(b, atLeast(b, x, kLowest), kHighest);
  // x·log2(e) = whole + fraction; log2(e) in two parts.
  Value whole = math::RoundEvenOp::create(b.builder, b.mulf(inside, b.constant(1.44269502f)));
  Value fraction = b.fma(inside, b.constant(1.44269502f), arith::NegFOp::create(b.builder, whole));
  fraction = b.fma(inside, b.constant(1.92596303e-8f), fraction);
  // 2^fraction on [-1/2, 1/2], as in VectorBuilder::exp2.
  Value power = polynomial(
      b, fraction,
      {1.0f, 6.931472028e-1f, 2.402264791e-1f, 5.550332471e-2f, 9.618437357e-3f, 1.339887440e-3f, 1.535336188e-4f});
  Value exponent = arith::FPToSIOp::create(b.builder, b.integers, whole);
  exponent = arith::ShLIOp::create(b.builder, exponent, b.integer(23));
  Value bits = arith::AddIOp::create(b.builder, arith::BitcastOp::create(b.builder, b.integers, power), exponent);
  power = arith::BitcastOp::create(b.builder, b.vector, bits);
  power = b.select(b.compare(Predicate::OLT, x, b.constant(kLowest)), b.constant(0), power);
  Value infinity = b.constant(std::numeric_limits<float>::infinity());
  power = b.select(b.compare(Predicate::OGE, x, b.constant(kHighest)), infinity, power);
  return b.select(b.compare(Predicate::UNO, x, x), x, power);
}

Value skewer::vectorTanh(VectorBuilder &b, Value x) {
  Value inside = atMost(b, atLeast(b, x, -9.01f), 9.01f), square = b.mulf(inside, inside);
  Value above = polynomial(b, square, {1.0f, 0.13380371f, 3.4948108e-3f, 2.0596268e-5f, 1.3336841e-8f});
  Value below = polynomial(b, square, {1.0f, 0.46713686f, 2.5874026e-2f, 3.2843627e-4f, 7.76928e-7f});
  return b.divf(b.mulf(inside, above), below);
}

Value skewer::vectorFunction(VectorBuilder &b, Operation *op, ValueRange operands) {
  if (operands.empty() || operands[0].getType() != b.vector)
    return {};
  if (isa<math::ExpOp>(op))
    return vectorExp(b, operands[0]);
  if (isa<math::TanhOp>(op))
    return vectorTanh(b, operands[0]);
  return {};
}
