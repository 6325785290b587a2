// Chooses what is prefetched of the next head, and emits the prefetches (UpcomingHead.h).
#include "passes/Cpu/UpcomingHead.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

// The most bytes of a head's operands for which it is prefetched: two such heads fit into L2 together with panels and
// scores. Larger operands are read long enough for the processor's own prefetching. Measured on a Zen 4 core (1 MiB of
// L2): see tests/bench/RESULTS-archive.md.
static constexpr int64_t kUpcomingBytes = 256 << 10;

void UpcomingHead::find() {
  operands.clear();
  struct Walked {
    const Walk *walk;
    int64_t step, depth, count;
  };
  std::vector<Walked> all;
  for (const ContentTerm &term : shape.content) {
    all.push_back({&term.query, term.query.query, term.depth, shape.queries});
    all.push_back({&term.key, term.key.key, term.depth, shape.keys});
  }
  all.push_back({&shape.value, shape.value.key, shape.width, shape.keys});
  int64_t bytes = 0;
  for (const Walked &rows : all)
    bytes += rows.count * rows.depth * 4;
  if (g.chunks * g.parts > 1 || bytes > kUpcomingBytes || positions.leadingSizes.empty())
    return;
  positions.atHead(b.add(positions.head(), 1), [&] {
    for (const Walked &rows : all)
      if (rows.walk->depth == 1 && rows.step == rows.depth && subscript::readNodes(rows.walk->base).empty() &&
          !context.stage.isComputed(rows.walk->argument))
        operands.push_back({memory.arguments[rows.walk->argument], positions.baseOf(rows.walk->base), rows.depth,
                            kLineBytes / memory.bytesOf(rows.walk->argument)});
  });
}

void UpcomingHead::fetch(Value row, Value key, int64_t keysOfTurn) {
  int64_t turns = std::max<int64_t>(1, shape.keys / keysOfTurn);
  for (const Rows &rows : operands) {
    int64_t lines = llvm::divideCeil(llvm::divideCeil(g.tileRows * rows.depth, rows.lineElements), turns);
    Value at = b.add(rows.base, b.mul(row, rows.depth));
    at = b.add(at, b.mul(key, lines * rows.lineElements / keysOfTurn));
    for (int64_t line = 0; line < lines; ++line)
      b.prefetch(rows.memory, b.add(at, line * rows.lineElements));
  }
}
