// Counting what the loops of ValueTerms.cpp do.
#include "passes/Schedule/ValueWork.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace skewer;

// Counted in the loops that are made. Cycles to find the element of a pair and to test its weight; of a vector of
// weights that is summed up, along a row and into the places of an axis; of a vector of a row that is multiplied for
// one query alone.
static constexpr double kPairCycles = 8, kSumCycles = 1, kAxisCycles = 4, kRowCycles = 1.5;

/// Pairs of a query and a key whose difference lies in [low, high] and in what the mask leaves.
static double pairsWithin(const AttentionShape &shape, int64_t low, int64_t high) {
  if (shape.visible) {
    low = std::max(low, shape.visible->low);
    high = std::min(high, shape.visible->high);
  }
  double pairs = 0;
  for (int64_t query = 0; low <= high && query < shape.queries; ++query) {
    // Offsets may be as large as INT64_MAX, sums with a position may not.
    int64_t first = low <= -query ? 0 : query + std::min(low, shape.keys);
    int64_t last = high >= shape.keys - 1 - query ? shape.keys - 1 : query + high;
    pairs += static_cast<double>(std::max<int64_t>(0, last - first + 1));
  }
  return pairs;
}

void skewer::addValueWork(const AttentionShape &shape, const Blocking &blocking, const Target &target,
                          PredictedWork &work) {
  int64_t rows = blocking.tileRows, vectors = llvm::divideCeil(shape.width, target.lanes);
  double groups = static_cast<double>(llvm::divideCeil(shape.queries, rows));
  double queries = static_cast<double>(shape.queries), keys = static_cast<double>(shape.keys);
  double tile = multiplyCycles(rows, vectors, 1, blocking, target); // one key of a row group
  for (const ValueTerm &term : shape.valueTerms) {
    switch (term.kind) {
    case ValueKind::Key:
      work.cycles += keys * static_cast<double>(vectors) * kRowCycles;
      break;
    case ValueKind::Runs:
      for (const OffsetRun &run : term.runs) {
        double pairs = pairsWithin(shape, run.low, run.high);
        if (run.isSummed()) {
          work.cycles += pairs / static_cast<double>(target.lanes) * kSumCycles + groups * tile;
          continue;
        }
        double steps = pairs / static_cast<double>(rows) + (pairs > 0 ? groups : 0); // of all row groups
        work.cycles += steps * tile;
        work.matmulFlops += 2.0 * steps * static_cast<double>(rows * vectors * target.lanes);
      }
      break;
    case ValueKind::Axis:
      work.cycles += queries * (keys / static_cast<double>(target.lanes) * kAxisCycles +
                                static_cast<double>(term.keyAxis.extent * vectors) * kRowCycles);
      break;
    case ValueKind::Pairs:
      work.cycles += queries * keys * (kPairCycles + static_cast<double>(vectors) * kRowCycles);
      break;
    }
  }
}
