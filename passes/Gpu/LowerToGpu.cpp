// attn-lower-to-gpu: lowers a kernel of the spec to a program for NVIDIA GPUs.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Gpu/GpuStages.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNLOWERTOGPU
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {
struct LowerToGpu : skewer::impl::AttnLowerToGpuBase<LowerToGpu> {
  using AttnLowerToGpuBase::AttnLowerToGpuBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!lower(module, function))
        return signalPassFailure();
  }

  bool lower(ModuleOp module, func::FuncOp function) {
    if (!function.getBody().hasOneBlock())
      return function.emitError("kernel '") << function.getName() << "' has branches; expected one block", false;
    auto result = function.walk([](attn::AttentionOp attention) -> WalkResult {
      attn::ScheduleInterface given = attention.getScheduleAttr();
      if (!given || isa<attn::GpuScheduleAttr>(given))
        return WalkResult::advance();
      return attention.emitError() << "schedule is for '" << given.getTarget()
                                   << "', but code is made for a GPU (gpu_schedule_c7)";
    });
    if (result.wasInterrupted())
      return false;
    // The plan describes one program, so a second one would lose the first.
    if (planOf(module))
      return function.emitError("a module holds one kernel when it is lowered; '")
                 << function.getName() << "' is another",
             false;
    return skewer::gpu::GpuStages(module, function, fuse).lower();
  }
};
} // namespace
