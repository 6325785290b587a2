// Whether a schedule for a GPU fits the layer that has it.
#pragma once
#include "passes/Analysis/GpuShape.h"
#include "passes/Schedule/GpuMachine.h"

namespace skewer::gpu {

/// Of an attention with an `#attn.gpu_schedule`, after what lowering begins with: its target, engine and strategies
/// must be what the layer and `machine` have, else an error on it (gpu_schedule_c2, c7 to c9). `shape` is null where
/// the attention goes by rows, for `reason`. A tile may be too large for a block of `machine` all the same: a target
/// that fits no tile is refused as a whole, by whoever asked for several.
mlir::LogicalResult verifyGpuSchedule(attn::AttentionOp, const GpuShape *shape, llvm::StringRef reason,
                                      const GpuMachine &machine);

} // namespace skewer::gpu
