// Replaces the error function, which GELU needs, by arithmetic.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/Emit/VectorMath.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNAPPROXIMATEERF
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;

namespace {
struct ErfAsArithmetic : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ErfOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!getElementTypeOrSelf(op.getType()).isF32() || (type && (type.getRank() != 1 || type.isScalable())))
      return failure();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    VectorBuilder b(builder, type ? type.getNumElements() : 1);
    Value erf = vectorErf(b, type ? op.getOperand() : b.broadcast(op.getOperand()));
    rewriter.replaceOp(op, type ? erf : vector::ExtractOp::create(builder, erf, 0).getResult());
    return success();
  }
};

/// Replaces erf, which GELU needs, by arithmetic: LLVM has no operation for it, and a library call for each lane is
/// slow.
struct ApproximateErf : skewer::impl::AttnApproximateErfBase<ApproximateErf> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ErfAsArithmetic>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
