// From a schedule to the LLVM dialect.
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

using namespace mlir;
using namespace skewer;

void skewer::addSchedulePipeline(OpPassManager &manager, const Target &target) {
  AttnScheduleOptions options;
  options.target = target.name;
  manager.addNestedPass<func::FuncOp>(createAttnDenseOperands());
  manager.addNestedPass<func::FuncOp>(createAttnSchedule(options));
}

void skewer::addCpuLoweringPipeline(OpPassManager &manager, const Target &target) {
  AttnLowerToCpuOptions options;
  options.target = target.name;
  manager.addPass(createAttnLowerToCpu(options));
  manager.addPass(createAttnToLinalg());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

namespace {
/// Transpositions of squares of registers become shuffles; other two-dimensional vectors do not occur.
struct LowerTransposes : PassWrapper<LowerTransposes, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTransposes)
  StringRef getArgument() const override { return "attn-lower-transposes"; }
  StringRef getDescription() const override { return "vector transpositions as shuffles of rows"; }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    vector::populateVectorTransposeLoweringPatterns(patterns, vector::VectorTransposeLowering::Shuffle16x16);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void skewer::addLlvmPipeline(OpPassManager &manager, const Target &) {
  manager.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addNestedPass<func::FuncOp>(std::make_unique<LowerTransposes>());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.x86Vector = true;
  manager.addPass(createConvertVectorToLLVMPass(vectors));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass()); // lanes of squares that are no columns
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}
