// attn-flatten-positions and attn-prepare-stages: the passes that change operations one by one before the layers of
// several lengths are compared operation by operation (addLengthPipeline).
#include "passes/Lengths/FlatPositions.h"
#include "passes/Passes.h"
#include "passes/Stages/PrepareStages.h"
#include "passes/Stages/Stages.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNFLATTENPOSITIONS
#define GEN_PASS_DEF_ATTNPREPARESTAGES
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;

namespace {
/// Replaces products of axes by one axis, in layers with the attribute that requests it.
struct FlattenPositions : skewer::impl::AttnFlattenPositionsBase<FlattenPositions> {
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

/// Makes the changes that a processor's stages would otherwise make later, when extents can no longer be added.
struct PrepareStages : skewer::impl::AttnPrepareStagesBase<PrepareStages> {
  void runOnOperation() override {
    prepareStages(getOperation(), walkedShape); // schedules are chosen after the comparison
  }
};
} // namespace
