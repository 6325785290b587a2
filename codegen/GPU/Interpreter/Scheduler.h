// Runs the warps of a block in an order that is made to find mistakes. Interpreter.cpp uses it for kernels whose warps
// run in any order. The PTX ISA promises no order except the one that barriers and waits give, so a correct kernel has
// the same result in each.
#pragma once
#include "codegen/GPU/Interpreter/WarpRunner.h"
#include <random>

namespace skewer::gpu {

class Scheduler {
public:
  /// Chooses the order by the block's seed: warps in turn, the last warp first, one warp only when no other can go on,
  /// one warp as long as it can, or at random. The seed also chooses whether copies arrive at once, at random, or when
  /// nothing else can go on.
  Scheduler(std::vector<WarpRunner> &warps, BlockState &block);

  /// Runs all warps to their ends. After a deadlock, notes a fault that says what each warp waits for, and returns
  /// false.
  bool run(mlir::Operation *kernel, int64_t &budget);

private:
  enum class Order { InTurn, LastFirst, StarvesOne, FavoursOne, Random };
  enum class Arrival { AtOnce, Random, Late };
  /// Returns the warp that runs next; nothing if all wait.
  std::optional<size_t> choose();
  bool canGoOn(size_t warp) const;
  unsigned turn();
  void reportDeadlock(mlir::Operation *kernel);

  std::vector<WarpRunner> &warps;
  BlockState &block;
  std::mt19937 random;
  Order order;
  Arrival arrival;
  size_t special, last = 0;           // the starved or favoured warp; the warp that ran last
  std::vector<uint64_t> blockedSince; // for each warp: 1 + changes() when it began to wait; 0: it can go on
};

} // namespace skewer::gpu
