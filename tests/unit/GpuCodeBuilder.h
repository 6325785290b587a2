// Builds the code of a layer for a GPU as `skewer compile` does: the first candidate of the cost model that fits.
#pragma once
#include "codegen/GPU/Build.h"
#include "codegen/GPU/Ptx.h"
#include "dialect/Language/Language.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Pipelines/Pipelines.h"
#include "tests/unit/GpuTesting.h"

namespace skewer::testing {

/// Lowers the layer for each requested tile.
struct GpuCodeBuilder {
  explicit GpuCodeBuilder(const std::string &text) {
    mlir::DialectRegistry registry;
    registry.insert<attn::AttnDialect, mlir::func::FuncDialect, mlir::math::MathDialect, mlir::tensor::TensorDialect>();
    gpu::registerGpuTarget(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
    einsum = language::importSource(sources, {}, &context, llvm::errs());
  }
  llvm::Expected<std::optional<gpu::GpuCode>> build(const gpu::GpuTarget &target, const std::string &ptxas) {
    return gpu::buildFor(target, ptxas, [&](int64_t rank) -> mlir::OwningOpRef<mlir::ModuleOp> {
      mlir::OwningOpRef<mlir::ModuleOp> module(mlir::cast<mlir::ModuleOp>((*einsum)->clone()));
      mlir::PassManager manager(&context);
      addFusionPipeline(manager);
      gpu::GpuRequest request = pinned;
      request.target = target.name;
      request.rank = rank;
      addGpuSchedulePipeline(manager, request);
      addGpuLoweringPipeline(manager);
      addNvvmPipeline(manager);
      ++tried;
      return succeeded(manager.run(*module)) ? std::move(module) : nullptr;
    });
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> einsum;
  gpu::GpuRequest pinned;
  int64_t tried = 0; // candidates
};

} // namespace skewer::testing
