// The signals between the threads of a block that fill tiles, the producers, and those that compute. The copies of a
// step's tiles are a ring: a producer waits until a copy is empty, and fills it; one warp waits until all parts of the
// copy have arrived, makes them visible to wgmma, and says that the copy is full; a computing warp waits until it is full,
// reads it, and says that it is empty. For each copy there are three barriers in shared memory (mbarrier; PTX ISA,
// "Parallel Synchronization and Communication Instructions: mbarrier"). Warps that compute do not wait for each other.
#pragma once
#include "passes/Gpu/Memory.h"
#include "passes/Gpu/ScoreLayout.h"
#include "passes/Gpu/Shape/GpuLayout.h"

namespace skewer::gpu {

/// Where a thread stands in the ring; i32.
struct RingPlace {
  Value copy;  // of the tiles
  Value phase; // 0 or 1: changes each time the ring has gone round
};

class Ring {
public:
  /// `offset`: of the barriers in shared memory, kRingBytes for each copy.
  Ring(GpuBuilder &b, const BlockMemory &shared, int64_t offset, int64_t copies)
      : b(b), shared(shared), offset(offset), copies(copies) {}

  /// Creates the barriers; all threads of the block call it. `producers`, `users`: warps that fill, and that read.
  /// A copy has arrived when each producing thread has called `arriveWhenCopied`, and each producing warp `sayStored`.
  void begin(const ThreadPlace &, int64_t producers, int64_t users);
  RingPlace first() { return {b.i32(0), b.i32(0)}; }
  RingPlace next(const RingPlace &);

  void waitUntilFull(const RingPlace &at) { wait(barrierAt(at.copy, kFull), at.phase); }
  void waitUntilArrived(const RingPlace &at) { wait(barrierAt(at.copy, kArrived), at.phase); }
  /// Waits until all warps have read the copy; nothing has to be read in the first round.
  void waitUntilEmpty(const RingPlace &at);
  /// Says that the thread's part of the copy is full as soon as the copies by cp.async have arrived that it has started.
  /// It does not wait for them.
  void arriveWhenCopied(const RingPlace &at);
  /// The warp says that it has stored its part of the copy, that the copy is full, or that it has read the copy.
  void sayStored(const RingPlace &at, Value lane) { arrive(barrierAt(at.copy, kArrived), lane); }
  void sayFull(const RingPlace &at, Value lane) { arrive(barrierAt(at.copy, kFull), lane); }
  void sayEmpty(const RingPlace &at, Value lane) { arrive(barrierAt(at.copy, kEmpty), lane); }

private:
  enum Barrier : int64_t { kArrived = 0, kFull = 8, kEmpty = 16 }; // their places among those of a copy, in bytes
  Value barrierAt(Value copy, int64_t which) {
    return shared.at(b.add(b.mul(copy, kRingBytes), offset + which));
  }
  void wait(Value barrier, Value phase);
  void arrive(Value barrier, Value lane);

  GpuBuilder &b;
  const BlockMemory &shared;
  int64_t offset, copies;
};

} // namespace skewer::gpu
