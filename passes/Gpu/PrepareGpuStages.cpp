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

static void prepare(func::FuncOp function) {
  absorbRearrangements(function, skewer::gpu::tiledShape);
  skewer::gpu::narrowOperands(function);
}

void skewer::gpu::prepareStages(func::FuncOp function) {
  if (!function->hasAttr(attn::kLengths))
    prepare(function);
}

namespace {
struct PrepareGpuStages : skewer::impl::AttnPrepareGpuStagesBase<PrepareGpuStages> {
  /// Also prepares a layer at one of its lengths, before it is compared with the others.
  void runOnOperation() override { prepare(getOperation()); }
};
} // namespace
