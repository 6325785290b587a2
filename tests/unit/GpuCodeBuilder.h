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

/// Imports a layer, and lowers it as often as it is asked to.
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
    return gpu::buildFor(target, ptxas, [&](int64_t rank) {
      ++tried;
      return lower(target.name, rank);
    });
  }
  /// Returns the module in the NVVM dialect with the schedule's candidate of this rank; null after a diagnostic.
  mlir::OwningOpRef<mlir::ModuleOp> lower(const std::string &target, int64_t rank = 0) {
    if (!einsum)
      return nullptr;
    mlir::OwningOpRef<mlir::ModuleOp> module(mlir::cast<mlir::ModuleOp>((*einsum)->clone()));
    mlir::PassManager manager(&context);
    addFusionPipeline(manager);
    gpu::GpuRequest request = pinned;
    request.target = target;
    request.rank = rank;
    addGpuSchedulePipeline(manager, request);
    addGpuLoweringPipeline(manager);
    addNvvmPipeline(manager);
    return succeeded(manager.run(*module)) ? std::move(module) : nullptr;
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> einsum;
  gpu::GpuRequest pinned;
  int64_t tried = 0; // candidates
};

} // namespace skewer::testing
