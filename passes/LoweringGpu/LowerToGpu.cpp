// attn-lower-to-gpu: a kernel that is one fused attention becomes a kernel for NVIDIA GPUs.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lowering/Stages.h"
#include "passes/LoweringGpu/GpuKernel.h"
#include "passes/LoweringGpu/GpuLaunch.h"
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
    if (rows % 16 || rows < 16 || rows > 256 || keys % 16 || keys < 16 || keys > 256) {
      module.emitError() << "a tile of " << int64_t(rows) << " queries and " << int64_t(keys)
                         << " keys; expected multiples of 16 between 16 and 256";
      return signalPassFailure();
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!lower(module, function))
        return signalPassFailure();
  }

  bool lower(ModuleOp module, func::FuncOp function) {
    std::string reason;
    if (!function.getBody().hasOneBlock())
      return function.emitError("kernel '") << function.getName() << "' has branches; expected one block", false;
    absorbRearrangements(function);
    auto shape = skewer::gpu::gpuShapeOf(function, reason);
    if (!shape) {
      function.emitError("kernel '") << function.getName() << "' cannot be made for a GPU: " << reason;
      return false;
    }
    skewer::gpu::GpuTile tile{rows, keys};
    OpBuilder at(function);
    auto gpuModule = mlir::gpu::GPUModuleOp::create(at, function.getLoc(), shape->plan.name + "_gpu");
    skewer::gpu::GpuBuilder b(function.getLoc(), &getContext());
    skewer::gpu::GpuKernel kernel(b, *shape, tile);
    if (!kernel.emit(gpuModule)) {
      function.emitError("kernel '") << function.getName() << "' cannot be made for a GPU: " << kernel.failure;
      return false;
    }
    skewer::gpu::GpuLaunch launch;
    launch.kernel = shape->plan.name;
    launch.title = "attention";
    launch.threads = tile.threads();
    launch.rows = tile.rows;
    launch.keys = tile.keys;
    launch.sharedBytes = kernel.sharedBytes();
    launch.blocks.scaled = (shape->attention.queries + tile.rows - 1) / tile.rows;
    for (const Extent &extent : shape->leading)
      if (extent.name.empty())
        launch.blocks.scaled *= extent.fixed;
      else
        launch.blocks.factors.push_back(extent.name);
    attachPlan(module, shape->plan);
    attachProgram(gpuModule, {shape->plan.name, {}, {launch}});
    function.erase();
    return true;
  }
};
} // namespace
