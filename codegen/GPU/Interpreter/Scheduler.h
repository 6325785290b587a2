// Runs the warps of a block in an order made to find mistakes. The PTX ISA promises no order but the one that barriers
// and waits give.
#pragma once
#include "codegen/GPU/Interpreter/WarpRunner.h"
#include <random>

namespace skewer::gpu {

class Scheduler {
public:
  /// The block's seed chooses the order: warps in turn, the last one first, one warp only when no other can go on, one
  /// warp as long as it can, or by chance; and whether copies arrive at once, by chance, or when nothing else can go
  /// on.
  Scheduler(std::vector<WarpRunner> &warps, BlockState &block);

  /// Runs all warps to their ends. After a deadlock it notes a fault, which says for what each warp waits, and returns
  /// false.
  bool run(mlir::Operation *kernel, int64_t &budget);

private:
  enum class Order { InTurn, LastFirst, StarvesOne, FavoursOne, Random };
  enum class Arrival { AtOnce, Random, Late };
  /// The warp that runs next; nothing if all wait.
  std::optional<size_t> choose();
  bool canGoOn(size_t warp) const;
  unsigned turn();
  void reportDeadlock(mlir::Operation *kernel);

  std::vector<WarpRunner> &warps;
  BlockState &block;
  std::mt19937 random;
  Order order;
  Arrival arrival;
  size_t special, last = 0;           // the warp that is starved or favoured; the one that ran last
  std::vector<uint64_t> blockedSince; // of each warp: the changes when it was found waiting, + 1; 0: it can go on
};

} // namespace skewer::gpu
