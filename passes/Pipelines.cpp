// Registration of the passes and of the pipelines that have a flag of their own.
#include "passes/Pipelines.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Cpu/TermStrategy.h"
#include "passes/Passes.h"
#include "passes/Schedule/GpuSchedule.h"

using namespace mlir;

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

void skewer::registerStrategies(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, attn::AttnDialect *dialect) {
    TermStrategies::of(dialect);
    gpu::addStrategyNames(dialect);
  });
}

void skewer::registerSkewerPasses() {
  registerGeneratedPasses();
  PassPipelineRegistration<>(
      "attn-fuse",
      "level 1 to level 2: name axes, raise, propagate masks, compose, sum lone axes, split products, form attention, hoist",
      [](OpPassManager &manager) { addFusionPipeline(manager); });
  PassPipelineRegistration<>("attn-to-llvm",
                             "level 4 to the LLVM dialect: loops over memory, vectors, linalg on memrefs and func",
                             [](OpPassManager &manager) { addLlvmPipeline(manager, hostTarget()); });
}
