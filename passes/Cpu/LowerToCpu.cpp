// The pass attn-lower-to-cpu: turns a kernel with a scheduled attention, a matrix product or a softmax into the phases
// of its stages (CpuStages.h). It fails if a module has two such kernels or a schedule cannot be obeyed.
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "passes/Cpu/CpuStages.h"
#include "passes/Cpu/Schedule/CpuSchedule.h"
#include "passes/Passes.h"
#include "passes/Schedule/Machine.h"
#include "passes/Stages/AttentionShapes.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNLOWERTOCPU
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {
/// Returns whether a function has an attention that fuses, a matrix product or a softmax. Other functions are left to
/// `attn-lower-generic`.
bool fuses(func::FuncOp function, AttentionShapes &shapes) {
  bool any = false;
  function.walk([&](attn::AttentionOp attention) { any |= shapes.fused(attention).has_value(); });
  function.walk([&](attn::EinsumOp einsum) { any |= matmulOf(einsum).has_value(); });
  function.walk([&](attn::SoftmaxOp) { any = true; });
  return any;
}

struct LowerToCpu : skewer::impl::AttnLowerToCpuBase<LowerToCpu> {
  using AttnLowerToCpuBase::AttnLowerToCpuBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto processor = readTarget(target);
    if (!processor) {
      module.emitError() << messageOf(processor.takeError());
      return signalPassFailure();
    }
    // A schedule that is accepted is obeyed. If that is impossible, the pass fails; it does not silently fall back to
    // rows.
    bool isObeyed = true;
    auto &shapes = getAnalysis<AttentionShapes>();
    module.walk([&](attn::AttentionOp attention) {
      isObeyed &=
          !attention.getScheduleAttr() || succeeded(verifySchedule(attention, shapes.walked(attention), *processor));
    });
    if (!isObeyed)
      return signalPassFailure();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function.getBody().hasOneBlock() || !fuses(function, shapes))
        continue;
      // The plan describes one kernel, so a second one would lose the first.
      if (planOf(module)) {
        function.emitError("a module holds one kernel when it is lowered; '") << function.getName() << "' is another";
        return signalPassFailure();
      }
      if (!CpuStages(module, function, *processor).emit())
        return signalPassFailure();
    }
  }
};
} // namespace
