// The passes of every step, in the order in which a kernel goes through them: fusion, lengths, a schedule, loops, the
// LLVM dialect; then the same for GPUs. codegen/Compiler/Compile.cpp shows what is around them.
#include "passes/Pipelines/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Gpu/Schedule/GpuSchedule.h"
#include "passes/Passes.h"
#include "passes/Schedule/GpuMachine.h"

using namespace mlir;
using namespace skewer;

/// Bottom up, the folding ends where it does top down, in half the time: fewer operations are visited twice.
static const GreedyRewriteConfig kBottomUp = GreedyRewriteConfig().setUseTopDownTraversal(false);
/// For loops, whose regions have one block each: there are no blocks to merge or to remove.
static const GreedyRewriteConfig kOfLoops =
    GreedyRewriteConfig(kBottomUp).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);

// Level 1 to level 2: einsums become attentions.

void skewer::addFusionPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createAttnRaiseSoftplus());
  manager.addNestedPass<func::FuncOp>(createAttnNameAxes());
  manager.addNestedPass<func::FuncOp>(createAttnSplitSoftmax());
  manager.addNestedPass<func::FuncOp>(createAttnComposeConcat());
  manager.addNestedPass<func::FuncOp>(createAttnRaiseSkew());
  manager.addNestedPass<func::FuncOp>(createAttnRaiseRunningSums());
  manager.addNestedPass<func::FuncOp>(createAttnPropagateMasks());
  manager.addNestedPass<func::FuncOp>(createAttnComposeSkew());
  manager.addNestedPass<func::FuncOp>(createAttnSumLoneAxes());
  manager.addNestedPass<func::FuncOp>(createAttnSplitProducts());
  manager.addNestedPass<func::FuncOp>(createAttnFormAttention());
  manager.addNestedPass<func::FuncOp>(createAttnMergeFeatures());
  manager.addNestedPass<func::FuncOp>(createAttnSplitPositions());
  manager.addNestedPass<func::FuncOp>(createAttnTabulateOffsets());
  manager.addNestedPass<func::FuncOp>(createAttnHoistProducts());
}

void skewer::addPlainPipeline(OpPassManager &manager) { manager.addNestedPass<func::FuncOp>(createAttnKeepContent()); }

// Level 2 to level 2. A kernel with lengths: attn-fit-lengths runs the passes above and these on the layer of each
// length, and makes one layer of them.

void skewer::addLengthPipeline(OpPassManager &manager, bool forGpu) {
  addOperandPipeline(manager);
  manager.addNestedPass<func::FuncOp>(createAttnFlattenPositions());
  manager.addNestedPass<func::FuncOp>(createAttnNameAxes());
  if (forGpu)
    manager.addNestedPass<func::FuncOp>(createAttnPrepareGpuStages());
  else
    manager.addNestedPass<func::FuncOp>(createAttnPrepareStages());
}

void skewer::addOperandPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createAttnDenseOperands());
}

// Level 2 to level 3: a schedule for a processor.

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
  manager.addNestedPass<func::FuncOp>(createAttnRoundProducts({options.target}));
  manager.addNestedPass<func::FuncOp>(createAttnSchedule(options));
}

// Level 3 to level 4: loops over memory.

void skewer::addCpuLoweringPipeline(OpPassManager &manager, const Target &target) {
  AttnLowerToCpuOptions options;
  options.target = target.spelling();
  manager.addNestedPass<func::FuncOp>(createAttnNameAxes());
  manager.addPass(createAttnLowerToCpu(options));
  manager.addPass(createAttnLowerGeneric());
  manager.addPass(createCanonicalizerPass(kOfLoops));
  manager.addPass(createCSEPass());
}

// Level 4 to the LLVM dialect.

void skewer::addLlvmPipeline(OpPassManager &manager, const Target &) {
  manager.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addNestedPass<func::FuncOp>(createAttnApproximateErf());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addNestedPass<func::FuncOp>(createAttnUnrollSmallLoops());
  manager.addPass(createSCFToControlFlowPass());
  // Functions of vectors become library calls for each lane before vectors are converted, so that these are converted
  // once.
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.x86Vector = true;
  manager.addPass(createConvertVectorToLLVMPass(vectors));
  // One conversion for all other dialects visits each operation once.
  ConvertToLLVMPassOptions rest;
  rest.filterDialects = {"memref", "arith", "ub", "func", "cf"};
  rest.allowPatternRollback = false;
  manager.addPass(createConvertToLLVMPass(rest));
  manager.addPass(createReconcileUnrealizedCastsPass());
}

// Level 2 to level 3: a schedule for a GPU.

void skewer::addGpuSchedulePipeline(OpPassManager &manager, const gpu::GpuRequest &request) {
  AttnScheduleGpuOptions options;
  options.target = request.target;
  options.rows = request.rows;
  options.keys = request.keys;
  options.stages = request.stages;
  options.columns = request.columns;
  options.warpRows = request.warpRows;
  options.keyParts = request.keyParts;
  options.engine = request.engine;
  options.copies = request.copies;
  options.rank = request.rank;
  if (request.keepQueries)
    options.queries = *request.keepQueries ? "registers" : "shared";
  manager.addPass(createAttnScheduleGpu(options));
}

// Level 3 to level 4, and on to the NVVM dialect: kernels in a GPU module.

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
