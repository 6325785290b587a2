// The pass pipelines of a processor, from scheduling to the LLVM dialect.
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Emit/VectorMath.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNAPPROXIMATEERF
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;

void skewer::addOperandPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createAttnDenseOperands());
}

void skewer::addSchedulePipeline(OpPassManager &manager, const Target &target, const CpuRequest &request) {
  AttnScheduleOptions options;
  options.target = target.spelling();
  options.tileRows = request.tileRows;
  options.tileVectors = request.tileVectors;
  options.rowBlock = request.rowBlock;
  options.keyBlock = request.keyBlock;
  options.rowsPerItem = request.rowsPerItem;
  options.keysPerItem = request.keysPerItem;
  for (const auto &[term, name] : request.strategies)
    options.strategies.push_back(std::to_string(term) + ":" + name);
  manager.addNestedPass<func::FuncOp>(createAttnSplitBlocks());
  manager.addNestedPass<func::FuncOp>(createAttnSplitWindows());
  addOperandPipeline(manager);
  manager.addNestedPass<func::FuncOp>(createAttnSchedule(options));
}

void skewer::addCpuLoweringPipeline(OpPassManager &manager, const Target &target) {
  AttnLowerToCpuOptions options;
  options.target = target.spelling();
  manager.addNestedPass<func::FuncOp>(createAttnNameAxes());
  manager.addPass(createAttnLowerToCpu(options));
  manager.addPass(createAttnLowerGeneric());
  // Bottom up, the folding ends where it does top down, in half the time: fewer operations are visited twice.
  manager.addPass(createCanonicalizerPass(GreedyRewriteConfig().setUseTopDownTraversal(false)));
  manager.addPass(createCSEPass());
}

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
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void skewer::addLlvmPipeline(OpPassManager &manager, const Target &) {
  manager.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addNestedPass<func::FuncOp>(createAttnApproximateErf());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addNestedPass<func::FuncOp>(createAttnUnrollSmallLoops());
  manager.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.x86Vector = true;
  manager.addPass(createConvertVectorToLLVMPass(vectors));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertVectorToLLVMPass(vectors)); // for the lanes of vectors that became library calls
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass()); // undefined values that folding leaves
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}
