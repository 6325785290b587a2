// Pipelines: the passes in the order in which they run, level by level (see docs/rationale/README.md).
#pragma once
#include "mlir/Pass/PassManager.h"
#include "passes/Cpu/Schedule/CostModel.h"

namespace skewer {
namespace gpu {
struct GpuRequest;
} // namespace gpu

/// Adds level 1 to level 2: raise, propagate masks, compose, form attention.
void addFusionPipeline(mlir::OpPassManager &);
/// Adds level 2 to 2: replaces the layer by one without positions, of the same sizes.
void addPlainPipeline(mlir::OpPassManager &);
/// Adds level 2 to 2: makes operands evenly walked. Runs before any schedule.
void addOperandPipeline(mlir::OpPassManager &);
/// Adds level 2 to 2: sets names, types and orders as stages (of processors, or of GPUs) need them, so that layers of
/// several lengths can be compared operation by operation.
void addLengthPipeline(mlir::OpPassManager &, bool forGpu = false);
/// Adds level 2 to 3: the same, and a schedule for each attention that has none.
void addSchedulePipeline(mlir::OpPassManager &, const Target &, const CpuRequest & = {});
/// Adds level 3 (level 1 for operations that did not fuse) to 4: loops over memrefs, one module per kernel, with
/// `attn.plan`.
void addCpuLoweringPipeline(mlir::OpPassManager &, const Target &);
/// Adds level 4 to the LLVM dialect.
void addLlvmPipeline(mlir::OpPassManager &, const Target &);
/// Adds level 2 to 3 for NVIDIA GPUs: chooses a schedule for each attention, or uses the request.
void addGpuSchedulePipeline(mlir::OpPassManager &, const gpu::GpuRequest &);
/// Adds level 3 to 4 for NVIDIA GPUs: kernels in their GPU module. Without `fuse`, attentions are computed row by row.
void addGpuLoweringPipeline(mlir::OpPassManager &, bool fuse = true);
/// Adds level 4 to the NVVM and LLVM dialects.
void addNvvmPipeline(mlir::OpPassManager &);

} // namespace skewer
