// attn-lower-to-cpu: a function that is one scheduled attention becomes its phases.
#include "passes/Lowering/CpuKernel.h"
#include "passes/Passes.h"
#include "passes/Schedule/Target.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNLOWERTOCPU
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {

/// The attention, if it is all that the function does.
attn::AttentionOp onlyAttention(func::FuncOp function) {
  if (function.getBody().empty())
    return {};
  auto result = dyn_cast<func::ReturnOp>(function.getBody().front().getTerminator());
  if (!result || result.getNumOperands() != 1)
    return {};
  auto attention = result.getOperand(0).getDefiningOp<attn::AttentionOp>();
  for (Operation &operation : function.getBody().front())
    if (&operation != result && &operation != attention && !isa<arith::ConstantOp>(operation))
      return {};
  return attention;
}

struct LowerToCpu : skewer::impl::AttnLowerToCpuBase<LowerToCpu> {
  using AttnLowerToCpuBase::AttnLowerToCpuBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      attn::AttentionOp attention = onlyAttention(function);
      if (!attention)
        continue;
      if (!lower(module, function, attention))
        return signalPassFailure();
    }
  }

  bool lower(ModuleOp module, func::FuncOp function, attn::AttentionOp attention) {
    auto schedule = dyn_cast_if_present<attn::CpuScheduleAttr>(attention.getScheduleAttr());
    KernelPlan plan = signatureOf(function);
    std::string reason;
    auto shape = shapeOfAttention(attention, reason);
    bool floats = plan.output.type == ElementType::F32;
    for (const TensorArgument &input : plan.inputs)
      floats &= input.type == ElementType::F32;
    // What this lowering does not take goes the generic way; `explain` reads why.
    if (!schedule || !shape || !floats) {
      if (reason.empty())
        reason = floats ? "it has no schedule" : "its element type is not f32";
      function->setAttr("attn.unfused", StringAttr::get(&getContext(), reason));
      return true;
    }
    ImplicitLocOpBuilder builder(attention.getLoc(), &getContext());
    VectorBuilder vectors(builder, schedule.getLanes());
    CpuKernel kernel(vectors, *shape);
    kernel.schedule = schedule;
    emitCpuKernel(kernel, module, plan);
    attachPlan(module, plan);
    function.erase();
    return true;
  }
};

} // namespace
