// The signals between the threads of a block that fill tiles, the producers, and those that compute. The copies of a
// step's tiles are a ring: a producer waits until a copy is empty, fills it, and says that it is full; a computing warp
// waits until it is full, reads it, and says that it is empty. For each copy there are two barriers in shared memory
// (mbarrier; PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"). Warps that compute do not
// wait for each other.
#pragma once
#include "passes/Gpu/Memory.h"
#include "passes/Gpu/ScoreLayout.h"

namespace skewer::gpu {

/// The place of a thread in the ring. All fields are i32.
struct RingPlace {
  Value copy;  // of the tiles
  Value phase; // 0 or 1: changes each time the ring has gone round
};

class Ring {
public:
  /// `offset`: of the barriers in shared memory, 16 bytes for each copy.
  Ring(GpuBuilder &b, const BlockMemory &shared, int64_t offset, int64_t copies)
      : b(b), shared(shared), offset(offset), copies(copies) {}

  /// Creates the barriers, within `createBarriers`. `producers`, `users`: warps that fill, and that read. A copy is
  /// full when each producing thread has called `arriveWhenCopied`, and each producing warp `sayFull`. If `boxes`, a
  /// thread also announces bytes at `full`, and they have come; `producers` may be 0 then.
  void create(int64_t producers, int64_t users, bool boxes);
  RingPlace first() { return {b.i32(0), b.i32(0)}; }
  RingPlace next(const RingPlace &);

  /// Returns the barrier that says when the copy is full.
  Value full(const RingPlace &at) { return barrierAt(at.copy, 0); }
  void waitUntilFull(const RingPlace &at) { wait(barrierAt(at.copy, 0), at.phase); }
  /// Waits until all warps have read the copy; nothing has to be read in the first round.
  void waitUntilEmpty(const RingPlace &at);
  /// Says that the thread's part of the copy is full as soon as the copies by cp.async have arrived that it has
  /// started. It does not wait for them.
  void arriveWhenCopied(const RingPlace &at);
  /// The warp says that it has stored its part of the copy, or that it has read the copy.
  void sayFull(const RingPlace &at, Value lane) { arrive(barrierAt(at.copy, 0), lane); }
  void sayEmpty(const RingPlace &at, Value lane) { arrive(barrierAt(at.copy, 8), lane); }

private:
  Value barrierAt(Value copy, int64_t which) { return shared.at(b.add(b.shiftLeft(copy, 4), offset + which)); }
  void wait(Value barrier, Value phase);
  void arrive(Value barrier, Value lane);

  GpuBuilder &b;
  const BlockMemory &shared;
  int64_t offset, copies;
};

/// Lets one thread of the block create barriers by `create`, and makes them known to all others, and to copies of boxes
/// if `boxes`. All threads of the block call it.
void createBarriers(GpuBuilder &, const ThreadPlace &, bool boxes, llvm::function_ref<void()> create);

} // namespace skewer::gpu
