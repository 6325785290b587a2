// The passes in the order they run, level by level (see dialect/RATIONALE.md).
#pragma once
#include "mlir/Pass/PassManager.h"
#include "passes/Schedule/Target.h"

namespace skewer {

/// Level 1 to level 2: raise, propagate masks, compose, form attention.
void addFusionPipeline(mlir::OpPassManager &);
/// Level 2 to 2: another layer, without positions, of the same sizes.
void addPlainPipeline(mlir::OpPassManager &);
/// Level 2 to 3: choose a schedule for each attention.
void addSchedulePipeline(mlir::OpPassManager &, const Target &);
/// Level 3 (or 1, for what did not fuse) to 4: loops over memrefs, one module a kernel, with `attn.plan`.
void addCpuLoweringPipeline(mlir::OpPassManager &, const Target &);
/// Level 4 to the LLVM dialect.
void addLlvmPipeline(mlir::OpPassManager &, const Target &);
/// Level 2 to 4 for NVIDIA GPUs: a kernel on tiles of that many queries and keys, in its GPU module.
void addGpuLoweringPipeline(mlir::OpPassManager &, int64_t rows, int64_t keys);
/// Level 4 to the NVVM and LLVM dialects.
void addNvvmPipeline(mlir::OpPassManager &);

/// Every pass of this project and every pipeline, by flag.
void registerSkewerPasses();

} // namespace skewer
