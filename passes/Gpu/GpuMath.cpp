// Lowers functions of single numbers on a GPU, which has no library for them: by short sequences of instructions
// (ShortMath), by MLIR's polynomials, and for angles after a reduction.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Gpu/ShortMath.h"
#include "passes/Passes.h"
#include <limits>

namespace skewer {
#define GEN_PASS_DEF_ATTNGPUMATH
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;

namespace {

constexpr StringLiteral kReduced = "attn.reduced"; // marks an angle within a quarter of pi

/// Computes sin and cos of any angle from sin and cos of its rest beside the nearest multiple of pi/2. The multiple is
/// subtracted in three parts (Cody and Waite 1980, chapter 8), exactly enough for angles up to 10^5. The rest of an f64
/// angle is rounded to f32, which has all digits that the f32 result can show.
template <typename Function, bool isSine> struct ReduceAngle : OpRewritePattern<Function> {
  using OpRewritePattern<Function>::OpRewritePattern;
  LogicalResult matchAndRewrite(Function op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (op->hasAttr(kReduced) || !(type.isF32() || type.isF64()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto real = [&](double x) -> Value { return arith::ConstantOp::create(b, b.getFloatAttr(type, x)); };
    auto whole = [&](int64_t x) -> Value { return arith::ConstantIntOp::create(b, x, 32); };
    Value angle = op.getOperand();
    Value turns = math::RoundEvenOp::create(b, arith::MulFOp::create(b, angle, real(0.6366197723675814)));
    Value rest = angle;
    for (double part : {-1.5703125, -4.837512969970703e-4, -7.549789948768648e-8})
      rest = math::FmaOp::create(b, turns, real(part), rest);
    if (type.isF64())
      rest = arith::TruncFOp::create(b, b.getF32Type(), rest);
    auto sine = math::SinOp::create(b, rest);
    auto cosine = math::CosOp::create(b, rest);
    sine->setAttr(kReduced, b.getUnitAttr());
    cosine->setAttr(kReduced, b.getUnitAttr());
    Value quarter = arith::FPToSIOp::create(b, b.getI32Type(), turns);
    if (!isSine)
      quarter = arith::AddIOp::create(b, quarter, whole(1));
    auto bit = [&](int64_t mask) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, quarter, whole(mask)),
                                   whole(0));
    };
    Value value = arith::SelectOp::create(b, bit(1), cosine, sine);
    value = arith::SelectOp::create(b, bit(2), arith::NegFOp::create(b, value), value);
    if (type.isF64())
      value = arith::ExtFOp::create(b, type, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// Computes a power by exp and log of the base's magnitude, plus the cases that these leave out: bases below 0 have
/// powers with whole exponents, which are negative if the exponent is odd; and 0 to the power of 0 is 1.
struct ExpandPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto real = [&](double x) -> Value { return arith::ConstantOp::create(b, b.getFloatAttr(type, x)); };
    auto is = [&](arith::CmpFPredicate how, Value x, Value y) -> Value { return arith::CmpFOp::create(b, how, x, y); };
    Value base = op.getLhs(), exponent = op.getRhs();
    Value size = math::AbsFOp::create(b, base);
    Value power = math::ExpOp::create(b, arith::MulFOp::create(b, exponent, math::LogOp::create(b, size)));
    Value half = arith::MulFOp::create(b, exponent, real(0.5));
    Value isOdd = is(arith::CmpFPredicate::ONE, math::FloorOp::create(b, half), half);
    Value isWhole = is(arith::CmpFPredicate::OEQ, math::FloorOp::create(b, exponent), exponent);
    Value turned = arith::SelectOp::create(b, isOdd, arith::NegFOp::create(b, power), power);
    Value none = real(std::numeric_limits<double>::quiet_NaN());
    Value ofNegative = arith::SelectOp::create(b, isWhole, turned, none);
    Value value = arith::SelectOp::create(b, is(arith::CmpFPredicate::OLT, base, real(0)), ofNegative, power);
    Value isOne = is(arith::CmpFPredicate::OEQ, exponent, real(0));
    rewriter.replaceOp(op, arith::SelectOp::create(b, isOne, real(1), value).getResult());
    return success();
  }
};

/// Computes any other function of f64 in f32, rounded before and after: there are no polynomials for f64.
struct NarrowFunction : RewritePattern {
  explicit NarrowFunction(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override;
};

/// Operations that become polynomials, operations that become arithmetic and polynomials, and operations that are
/// instructions. The dialect has no others that a kernel can hold.
constexpr StringLiteral kPolynomials[] = {"math.acos", "math.asin", "math.atan",  "math.atan2", "math.cos",
                                          "math.erf",  "math.exp",  "math.expm1", "math.log",   "math.log1p",
                                          "math.log2", "math.sin",  "math.tanh"};
constexpr StringLiteral kExpansions[] = {"cosh", "sinh", "tan"};
constexpr StringLiteral kInstructions[] = {"math.absf",  "math.ceil",      "math.copysign", "math.floor", "math.fma",
                                           "math.round", "math.roundeven", "math.rsqrt",    "math.sqrt",  "math.trunc"};

LogicalResult NarrowFunction::matchAndRewrite(Operation *op, PatternRewriter &rewriter) const {
  StringRef name = op->getName().getStringRef();
  if (!isa_and_present<math::MathDialect>(op->getDialect()) || !op->getResult(0).getType().isF64() ||
      isa<math::SinOp, math::CosOp>(op) || !llvm::is_contained(kPolynomials, name))
    return failure();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(arith::TruncFOp::create(rewriter, op->getLoc(), rewriter.getF32Type(), operand));
  OperationState state(op->getLoc(), op->getName(), operands, rewriter.getF32Type(), op->getAttrs());
  rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op->getResult(0).getType(), rewriter.create(state)->getResult(0));
  return success();
}

struct GpuMath : skewer::impl::AttnGpuMathBase<GpuMath> {
  void runOnOperation() override {
    RewritePatternSet angles(&getContext());
    angles.add<ReduceAngle<math::SinOp, true>, ReduceAngle<math::CosOp, false>, NarrowFunction, ExpandPower>(
        &getContext());
    math::populateExpansionPatterns(angles, SmallVector<StringRef>(ArrayRef<StringLiteral>(kExpansions)));
    if (failed(applyPatternsGreedily(getOperation(), std::move(angles))))
      return signalPassFailure();
    RewritePatternSet polynomials(&getContext());
    skewer::addShortMath(polynomials);
    populateMathPolynomialApproximationPatterns(polynomials,
                                                [](StringRef name) { return llvm::is_contained(kPolynomials, name); });
    if (failed(applyPatternsGreedily(getOperation(), std::move(polynomials))) || !check())
      signalPassFailure();
  }

  /// Returns false after an error at an operation that no later pass can lower. Plugins may bring such operations.
  bool check() {
    return !getOperation()
                .walk([](Operation *op) {
                  StringRef name = op->getName().getStringRef(), dialect = op->getName().getDialectNamespace();
                  bool isKnown =
                      isa<math::MathDialect>(op->getDialect())
                          ? llvm::is_contained(kInstructions, name) && !isa<ShapedType>(op->getResult(0).getType())
                          : llvm::is_contained({"arith", "scf", "cf", "llvm", "nvvm", "gpu", "builtin"}, dialect);
                  if (isKnown)
                    return WalkResult::advance();
                  InFlightDiagnostic error = op->emitError("no GPU kernel can hold '") << name << "'";
                  error.attachNote()
                      << "a function of a plugin is made of operations on single numbers there: of arith, and of math "
                         "absf, ceil, copysign, floor, fma, round, roundeven, rsqrt, sqrt, trunc, powf and those "
                         "with a polynomial (exp, expm1, log, log1p, log2, sin, cos, tan, asin, acos, atan, atan2, "
                         "sinh, cosh, tanh, erf)";
                  return WalkResult::interrupt();
                })
                .wasInterrupted();
  }
};

} // namespace
