// The passes in the order they run, level by level (see dialect/RATIONALE.md).
#pragma once
#include "mlir/Pass/PassManager.h"
#include "passes/Schedule/CostModel.h"

namespace skewer {
namespace gpu {
struct GpuRequest;
} // namespace gpu

/// Level 1 to level 2: raise, propagate masks, compose, form attention.
void addFusionPipeline(mlir::OpPassManager &);
/// Level 2 to 2: another layer, without positions, of the same sizes.
void addPlainPipeline(mlir::OpPassManager &);
/// Level 2 to 2: operands are walked evenly; before any schedule.
void addOperandPipeline(mlir::OpPassManager &);
/// Level 2 to 2: names, types and orders as stages want them, so that layers of several lengths can be compared
/// operation by operation; stages of processors, or of GPUs.
void addLengthPipeline(mlir::OpPassManager &, bool forGpu = false);
/// Level 2 to 3: the same, and a schedule for each attention that has none.
void addSchedulePipeline(mlir::OpPassManager &, const Target &, const CpuRequest & = {});
/// Level 3 (or 1, for what did not fuse) to 4: loops over memrefs, one module a kernel, with `attn.plan`.
void addCpuLoweringPipeline(mlir::OpPassManager &, const Target &);
/// Level 4 to the LLVM dialect.
void addLlvmPipeline(mlir::OpPassManager &, const Target &);
/// Level 2 to 3 for NVIDIA GPUs: choose a schedule for each attention, or do as the request says.
void addGpuSchedulePipeline(mlir::OpPassManager &, const gpu::GpuRequest &);
/// Level 3 to 4 for NVIDIA GPUs: kernels in their GPU module. Attentions go by rows unless `fuse`.
void addGpuLoweringPipeline(mlir::OpPassManager &, bool fuse = true);
/// Level 4 to the NVVM and LLVM dialects.
void addNvvmPipeline(mlir::OpPassManager &);

/// Every pass of this project and every pipeline, by flag.
void registerSkewerPasses();

} // namespace skewer
