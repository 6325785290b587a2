// The additional state of a block whose warps run in any order and wait for each other by more than barriers of the
// whole block. Interpreter.cpp makes it for such kernels only.
#pragma once
#include "codegen/GPU/Interpreter/AccessHistory.h"
#include "codegen/GPU/Interpreter/BulkCopies.h"
#include "codegen/GPU/Interpreter/Clocks.h"
#include "codegen/GPU/Interpreter/Mbarriers.h"
#include "codegen/GPU/Interpreter/NamedBarriers.h"
#include "codegen/GPU/Interpreter/Warpgroups.h"

namespace skewer::gpu {

struct Concurrency {
  Concurrency(BlockState &block, unsigned seed)
      : clocks(block.threads), history(block.shared->size(), clocks, *block.report),
        mbarriers(block.shared->size(), clocks, history, *block.report),
        named(block.threads / kLanes, clocks, *block.report),
        copies(*block.shared, *block.device, clocks, history, mbarriers, *block.report),
        groups(block.threads / kLanes, *block.report), registers(block.threads), seed(seed) {}

  BlockClocks clocks;
  AccessHistory history;
  Mbarriers mbarriers;
  NamedBarriers named;
  BulkCopies copies;
  Warpgroups groups;
  RegisterFile registers;
  unsigned seed;
  /// Returns a number that grows whenever something changes that a warp may wait for.
  uint64_t changes() const { return mbarriers.changes() + named.changes() + registers.changes(); }
};

} // namespace skewer::gpu
