// The pass pipelines from a fused attention to a kernel of the NVVM dialect.
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

using namespace mlir;

/// As on processors: the folding ends where it does top down, in half the time.
static const GreedyRewriteConfig kBottomUp = GreedyRewriteConfig().setUseTopDownTraversal(false);

void skewer::addGpuLoweringPipeline(OpPassManager &manager, bool fuse) {
  AttnLowerToGpuOptions options;
  options.fuse = fuse;
  manager.addPass(createAttnLowerToGpu(options));
  manager.addPass(createCanonicalizerPass(kBottomUp));
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
}

void skewer::addNvvmPipeline(OpPassManager &manager) {
  manager.addNestedPass<mlir::gpu::GPUModuleOp>(createAttnGpuMath());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass(kBottomUp));
  manager.addPass(createCSEPass());
}
