// Verification of GPU schedules: whether a schedule fits the layer that has it.
#pragma once
#include "passes/Gpu/Shape/GpuShape.h"
#include "passes/Schedule/GpuMachine.h"

namespace skewer::gpu {

/// Verifies the `#attn.gpu_schedule` of an attention, after the passes that lowering begins with. Its target, engine
/// and strategies must be those of the layer and of `machine`; else emits an error on the attention (gpu_schedule_c2,
/// c7 to c9, c12, c14). `shape` is null if the attention is computed row by row; `reason` says why. This does not check
/// whether the tile fits a block of `machine`: a caller that compiles for several targets refuses a target that fits no
/// tile as a whole.
mlir::LogicalResult verifyGpuSchedule(attn::AttentionOp, const GpuShape *shape, llvm::StringRef reason,
                                      const GpuMachine &machine);

/// Lets GPU schedules of the dialect's context name the strategies of GPUs.
void addStrategyNames(attn::AttnDialect *);

} // namespace skewer::gpu
