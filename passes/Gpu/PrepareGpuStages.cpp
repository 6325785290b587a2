// attn-prepare-gpu-stages.
#include "passes/Gpu/PrepareGpuStages.h"
#include "passes/Gpu/NarrowOperands.h"
#include "passes/Gpu/Shape/GpuShape.h"
#include "passes/Passes.h"
#include "passes/Stages/Stages.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNPREPAREGPUSTAGES
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;

void skewer::gpu::prepareStages(func::FuncOp function) {
  if (function->hasAttr(attn::kLengths))
    return;
  absorbRearrangements(function, tiledShape);
  narrowOperands(function);
}

namespace {
struct PrepareGpuStages : skewer::impl::AttnPrepareGpuStagesBase<PrepareGpuStages> {
  void runOnOperation() override { skewer::gpu::prepareStages(getOperation()); }
};
} // namespace
