// Patterns by ex2.approx.ftz, exact to 2 units in the last place, and rcp.approx.ftz, exact to 1 unit (PTX manual,
// Floating Point Instructions).
#include "passes/Gpu/ShortMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "passes/Emit/Polynomials.h"
#include <cmath>

using namespace mlir;
using namespace skewer::polynomials;

namespace {

constexpr unsigned short kBeforePolynomials = 2;
// log2(e), its nearest f32, and the difference of the two.
constexpr double kLog2E = 1.4426950408889634, kLog2EHigh = 1.44269502162933349609375, kLog2ELow = kLog2E - kLog2EHigh;

bool isApproximate(arith::ArithFastMathInterface op) {
  return arith::bitEnumContainsAll(op.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
}

class Numbers {
public:
  Numbers(Operation *op, PatternRewriter &rewriter) : b(op->getLoc(), rewriter) {}
  Value real(double x) { return arith::ConstantOp::create(b, b.getF32FloatAttr(float(x))); }
  Value times(Value x, Value y) { return arith::MulFOp::create(b, x, y, arith::FastMathFlags::afn); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value exp2(Value x) { return LLVM::Exp2Op::create(b, b.getF32Type(), x, LLVM::FastmathFlags::afn); }
  /// coefficients[0] + x × (coefficients[1] + x × (…))
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = real(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, real(coefficient));
    return sum;
  }
  Value reciprocal(Value x) { return NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), x); }

  ImplicitLocOpBuilder b;
};

/// exp(x) is 2^(x·log2(e)). The rounding error of the product (70 units for |x| = 80) is corrected afterwards.
struct Exponential : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Numbers n(op, rewriter);
    Value x = op.getOperand();
    if (isApproximate(op)) {
      rewriter.replaceOp(op, n.exp2(n.times(x, n.real(kLog2E))));
      return success();
    }
    // For an infinity the rest would be NaN. A NaN stays NaN in the minimum and the maximum.
    Value inside = arith::MaximumFOp::create(n.b, arith::MinimumFOp::create(n.b, x, n.real(128)), n.real(-128));
    Value power = arith::MulFOp::create(n.b, inside, n.real(kLog2EHigh));
    Value rest = n.fma(inside, n.real(kLog2EHigh), arith::NegFOp::create(n.b, power));
    rest = n.fma(inside, n.real(kLog2ELow), rest);
    Value factor = n.fma(rest, n.real(1 / kLog2E), n.real(1)); // 2^rest
    rewriter.replaceOp(op, arith::MulFOp::create(n.b, n.exp2(power), factor).getResult());
    return success();
  }
};

/// 1 - 2 / (exp(2x) + 1). Near 0 it is exact to 2^-23 of 1, not of the result.
struct HyperbolicTangent : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() || !isApproximate(op))
      return failure();
    Numbers n(op, rewriter);
    Value power = n.exp2(n.times(op.getOperand(), n.real(2 * kLog2E)));
    Value part = n.reciprocal(arith::AddFOp::create(n.b, power, n.real(1)));
    // The reciprocal of 1 may be off by a unit, but no tanh is below -1.
    rewriter.replaceOpWithNewOp<arith::MaximumFOp>(op, n.fma(part, n.real(-2), n.real(1)), n.real(-1));
    return success();
  }
};

/// Computes tanh to all digits, as `ErrorFunction` computes erf: see Polynomials.h.
struct TangentOfAllDigits : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() || isApproximate(op))
      return failure();
    // An f32 that is added to this number loses its fraction, and its integer stands in the low bits of the sum.
    constexpr double kRounds = 0x1.8p23;
    Numbers n(op, rewriter);
    Type bits = n.b.getI32Type();
    Value x = op.getOperand();
    Value inside = arith::MinimumFOp::create(n.b, math::AbsFOp::create(n.b, x), n.real(kTanhIsOne));
    Value rounded = n.fma(inside, n.real(-kTwoPerLn2), n.real(kRounds));
    Value rest = n.fma(arith::SubFOp::create(n.b, rounded, n.real(kRounds)), n.real(kHalfLn2), inside);
    auto integer = [&](int64_t number) { return arith::ConstantIntOp::create(n.b, bits, number).getResult(); };
    Value exponent = arith::ShLIOp::create(n.b, arith::BitcastOp::create(n.b, bits, rounded), integer(23));
    Value power = arith::BitcastOp::create(n.b, n.b.getF32Type(),
                                           arith::AddIOp::create(n.b, exponent, integer(0x3f800000)).getResult());
    Value difference = n.fma(rest, n.real(2), arith::SubFOp::create(n.b, n.real(1), power));
    difference = n.fma(arith::MulFOp::create(n.b, rest, rest), n.polynomial(rest, kTanhExcess), difference);
    Value size = arith::DivFOp::create(n.b, difference, n.fma(power, n.real(2), difference));
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, size, x);
    return success();
  }
};

struct ErrorFunction : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ErfOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Numbers n(op, rewriter);
    Value x = op.getOperand(), size = math::AbsFOp::create(n.b, x);
    Value inside = arith::MinimumFOp::create(n.b, size, n.real(kErfIsOne));
    Value near = n.fma(n.polynomial(arith::MulFOp::create(n.b, x, x), kErfNear), x, x);
    Value exponent = n.fma(n.polynomial(inside, kErfFar), inside, arith::NegFOp::create(n.b, inside));
    Value far = arith::SubFOp::create(n.b, n.real(1), math::ExpOp::create(n.b, exponent));
    Value isFar = arith::CmpFOp::create(n.b, arith::CmpFPredicate::OGT, size, n.real(kErfIsFar));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isFar, math::CopySignOp::create(n.b, far, x), near);
    return success();
  }
};

/// Divides by a constant: multiplies by its reciprocal. Divides a constant by x: multiplies the constant by the
/// reciprocal of x, which is 0 if x is above 2^126. Any other division stays, since the quotient of two such numbers is
/// not 0.
struct Quotient : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() || !isApproximate(op))
      return failure();
    Numbers n(op, rewriter);
    FloatAttr known;
    if (matchPattern(op.getRhs(), m_Constant(&known))) {
      double factor = 1 / known.getValueAsDouble();
      if (!std::isnormal(float(factor)))
        return failure();
      rewriter.replaceOp(op, n.times(op.getLhs(), n.real(factor)));
      return success();
    }
    constexpr double kLargest = 0x1p20;
    if (!matchPattern(op.getLhs(), m_Constant(&known)) || !(std::abs(known.getValueAsDouble()) <= kLargest))
      return failure();
    Value reciprocal = n.reciprocal(op.getRhs());
    rewriter.replaceOp(op, matchPattern(op.getLhs(), m_OneFloat()) ? reciprocal : n.times(op.getLhs(), reciprocal));
    return success();
  }
};

/// Merges two constant factors, x·c·d, into one, if the outer multiplication may be approximate.
struct Factors : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getLhs().getDefiningOp<arith::MulFOp>();
    FloatAttr first, second;
    if (!op.getType().isF32() || !isApproximate(op) || !inner || !matchPattern(inner.getRhs(), m_Constant(&first)) ||
        !matchPattern(op.getRhs(), m_Constant(&second)))
      return failure();
    double factor = first.getValueAsDouble() * second.getValueAsDouble();
    if (!std::isnormal(float(factor)))
      return failure();
    Numbers n(op, rewriter);
    rewriter.replaceOp(op, n.times(inner.getLhs(), n.real(factor)));
    return success();
  }
};

} // namespace

void skewer::addShortMath(RewritePatternSet &patterns) {
  patterns.add<Exponential, HyperbolicTangent, TangentOfAllDigits, ErrorFunction, Quotient,
               Factors>(patterns.getContext(), kBeforePolynomials);
}

Value skewer::emitWithFlags(OpBuilder &b, Operation *op, ValueRange operands, arith::FastMathFlags flags) {
  auto flagged = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flagged)
    return {};
  Operation *copy = b.clone(*op);
  copy->setOperands(operands);
  copy->setAttr(flagged.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op->getContext(), flags));
  return copy->getResult(0);
}
