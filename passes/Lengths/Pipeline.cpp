// The passes that change operations one by one, before the layers of several lengths are compared operation by
// operation.
#include "mlir/Pass/PassManager.h"
#include "passes/Analysis/GpuShape.h"
#include "passes/Lengths/FlatPositions.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/Stages/NarrowOperands.h"
#include "passes/Stages/PrepareStages.h"
#include "passes/Stages/Stages.h"

using namespace mlir;
using namespace skewer;

namespace {
/// Replaces products of axes by one axis, in layers that ask for it.
struct FlattenPositions : PassWrapper<FlattenPositions, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FlattenPositions)
  StringRef getArgument() const override { return "attn-flatten-positions"; }
  StringRef getDescription() const override { return "products of axes become one axis each"; }
  void runOnOperation() override {
    if (!getOperation()->hasAttr(kFlatPositions))
      return;
    getOperation().walk([](Operation *op) {
      if (auto attention = dyn_cast<attn::AttentionOp>(op))
        flattenPositions(attention);
      else if (auto einsum = dyn_cast<attn::EinsumOp>(op))
        flattenPositions(einsum);
      else if (auto rearrange = dyn_cast<attn::RearrangeOp>(op))
        flattenPositions(rearrange);
    });
  }
};

/// Makes the changes that a processor's stages would otherwise make later, when no extent can be added any more.
struct PrepareStages : PassWrapper<PrepareStages, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrepareStages)
  StringRef getArgument() const override { return "attn-prepare-stages"; }
  StringRef getDescription() const override { return "types and orders of operands as stages want them"; }
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    prepareStages(function, walkedShape); // schedules are chosen after the comparison
  }
};

/// Does the same for the stages of a GPU.
struct PrepareGpuStages : PassWrapper<PrepareGpuStages, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrepareGpuStages)
  StringRef getArgument() const override { return "attn-prepare-gpu-stages"; }
  StringRef getDescription() const override { return "types and orders of operands as stages of a GPU want them"; }
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    absorbRearrangements(function, skewer::gpu::tiledShape);
    skewer::gpu::narrowOperands(function);
  }
};
} // namespace

void skewer::addLengthPipeline(OpPassManager &manager, bool forGpu) {
  addOperandPipeline(manager);
  manager.addNestedPass<func::FuncOp>(std::make_unique<FlattenPositions>());
  manager.addNestedPass<func::FuncOp>(createAttnNameAxes());
  if (forGpu)
    manager.addNestedPass<func::FuncOp>(std::make_unique<PrepareGpuStages>());
  else
    manager.addNestedPass<func::FuncOp>(std::make_unique<PrepareStages>());
}
