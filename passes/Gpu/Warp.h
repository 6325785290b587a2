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
/// Returns whether the thread is the one lane that the warp elects (sm_90; i1). All lanes call it.
mlir::Value electedLane(mlir::ImplicitLocOpBuilder &);
/// Waits for all threads of the warp; `barrier` waits for all of the block.
void warpBarrier(mlir::ImplicitLocOpBuilder &);
void barrier(mlir::ImplicitLocOpBuilder &);
/// Waits for `threads` threads of the block, by its barrier of this number, 1 to 15.
void barrierOf(mlir::ImplicitLocOpBuilder &, int64_t number, int64_t threads);
/// Makes the thread's writes to shared memory visible to wgmma, which reads it past the order of a thread's accesses;
/// a barrier must follow. It also lets bulk copies overwrite what the thread has read. PTX ISA, "Async proxy".
void fenceBeforeAsyncReads(mlir::ImplicitLocOpBuilder &);
/// Makes barriers that the thread has initialised known to bulk copies.
void fenceBeforeBulkCopies(mlir::ImplicitLocOpBuilder &);

} // namespace skewer::gpu
