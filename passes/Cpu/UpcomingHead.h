// Prefetches the next head while this one is computed. A small head ends before the processor's own prefetching has
// found the order in which its operands are read.
#pragma once
#include "passes/Cpu/KernelContext.h"

namespace skewer {

class UpcomingHead : KernelPart {
public:
  explicit UpcomingHead(KernelContext &context) : KernelPart(context) {}
  /// Finds the operands of the next head whose rows are consecutive. Behind the last head the addresses are invalid,
  /// which a prefetch tolerates. Operands whose base depends on run-time indices are left out: it must not be computed
  /// there.
  void find();
  /// Prefetches a part of the next head's rows from `row` on, as many rows as a register tile has. The part is so large
  /// that all of these rows are prefetched when the loop over keys ends.
  void fetch(mlir::Value row, mlir::Value key, int64_t keysOfTurn);

private:
  struct Rows { // consecutive rows of an operand, `depth` elements each, from `base` on
    mlir::Value memory, base;
    int64_t depth, lineElements;
  };
  std::vector<Rows> operands;
};

} // namespace skewer
