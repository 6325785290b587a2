// Prefetches the next head while this one is computed. A small head ends before the processor's own prefetching has
// found the order in which its operands are read.
#include "passes/Cpu/Strategy.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

// The most bytes of a head's operands for which it is prefetched: two such heads fit into L2 together with panels and
// scores. Larger operands are read long enough for the processor's own prefetching. Measured on a Zen 4 core (1 MiB of
// L2): see tests/bench/RESULTS-archive.md.
static constexpr int64_t kUpcomingBytes = 256 << 10;

/// Finds the operands of the next head whose rows are consecutive. Behind the last head the addresses are invalid,
/// which a prefetch tolerates. Operands whose base depends on run-time indices are left out: it must not be computed
/// there.
void CpuKernel::findUpcoming() {
  upcoming.clear();
  struct Rows {
    const Walk *walk;
    int64_t step, depth, count;
  };
  std::vector<Rows> operands;
  for (const ContentTerm &term : shape.content) {
    operands.push_back({&term.query, term.query.query, term.depth, shape.queries});
    operands.push_back({&term.key, term.key.key, term.depth, shape.keys});
  }
  operands.push_back({&shape.value, shape.value.key, shape.width, shape.keys});
  int64_t bytes = 0;
  for (const Rows &rows : operands)
    bytes += rows.count * rows.depth * 4;
  if (chunks * parts > 1 || bytes > kUpcomingBytes || positions.leadingSizes.empty())
    return;
  Positions::Values own = positions.axes;
  positions.enterHead(b.add(leadingIndex, 1));
  for (const Rows &rows : operands)
    if (rows.walk->depth == 1 && rows.step == rows.depth && subscript::readNodes(rows.walk->base).empty() &&
        !isComputed(rows.walk->argument))
      upcoming.push_back({memory.arguments[rows.walk->argument], positions.baseOf(rows.walk->base), rows.depth});
  positions.axes = std::move(own);
}

/// Prefetches a part of the next head's rows from `row` on, as many rows as a register tile has. The part is so large
/// that all of these rows are prefetched when the loop over keys ends.
void CpuKernel::fetchUpcoming(Value row, Value key, int64_t keysOfTurn) {
  int64_t turns = std::max<int64_t>(1, shape.keys / keysOfTurn);
  for (const UpcomingRows &rows : upcoming) {
    int64_t lines = llvm::divideCeil(llvm::divideCeil(tileRows * rows.depth, kLineFloats), turns);
    Value at = b.add(rows.base, b.mul(row, rows.depth));
    at = b.add(at, b.mul(key, lines * kLineFloats / keysOfTurn));
    for (int64_t line = 0; line < lines; ++line)
      b.prefetch(rows.memory, b.add(at, line * kLineFloats));
  }
}
