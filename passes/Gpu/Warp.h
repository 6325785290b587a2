// Emits what several threads do together: shuffles and a vote of a warp, and barriers of a warp and of a block.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer::gpu {

/// Returns the number of lane `lane ^ distance`.
mlir::Value shuffle(mlir::ImplicitLocOpBuilder &, mlir::Value, int64_t distance);
/// Returns the number of lane `from` (i32).
mlir::Value shuffleFrom(mlir::ImplicitLocOpBuilder &, mlir::Value, mlir::Value from);
/// Returns whether the condition holds in some lane of the warp (i1).
mlir::Value anyLane(mlir::ImplicitLocOpBuilder &, mlir::Value condition);
/// Waits for all threads of the warp; `barrier` waits for all of the block.
void warpBarrier(mlir::ImplicitLocOpBuilder &);
void barrier(mlir::ImplicitLocOpBuilder &);

} // namespace skewer::gpu
