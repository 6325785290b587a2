// Counting the products, the lines and the gathers of terms with picked rows.
#include "passes/Schedule/RowWork.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace skewer;

// Cycles an element. A block of diagonals (31 loads, 75 selects, 16 loads and stores for 256 elements) takes 100, a
// line's vector of 16 takes 5, both measured on a Zen 4 core. A gather is the machine's (`gather_cost`).
static constexpr double kDiagonalCycles = 0.4, kLineCycles = 0.3;

// Offsets of a block of queries and a tile of keys, about.
static constexpr int64_t kWindow = 160;

static int64_t pickedRows(const RowTerm &term) { return term.endRow - term.firstRow; }

/// Rows for each offset of a window of `length`, on the average over all pairs of positions.
static double shareOf(const OffsetRows &offsets, int64_t queries, int64_t keys, int64_t length) {
  if (!offsets.isMonotone() || offsets.hasNone())
    return 1;
  double rows = 0, weights = 0;
  for (int64_t middle = 1 - queries; middle < keys; ++middle) {
    double weight = static_cast<double>(std::max<int64_t>(1, std::min(queries, keys) - std::abs(middle)));
    int64_t first = offsets.at(middle - length / 2), last = offsets.at(middle - length / 2 + length - 1);
    rows += weight * static_cast<double>(std::max(first, last) - std::min(first, last) + 1);
    weights += weight;
  }
  return std::min(1.0, rows / weights / static_cast<double>(length));
}

void skewer::addRowSizes(const AttentionShape &shape, AttentionSizes &sizes) {
  // Lines as long as the block of keys are not counted beside the scores where larger blocks save products: DeBERTa's
  // layer (512 keys, both sides) takes 15.7 ms in blocks of 256 queries whose lines leave L2, 16.5 ms in blocks of 96.
  bool line = false;
  for (const RowTerm &term : shape.rows) {
    int64_t offsets = static_cast<int64_t>(term.offsets.rows.size());
    if (!term.keySide && term.kind == RowKind::Offset) {
      // A line with margins of a tile, or as much of one as a block of keys reaches.
      if (2 * offsets > sizes.keys)
        sizes.lineDepth += term.depth;
      else
        sizes.extraPerRow += offsets + 128;
    } else if (!term.keySide) {
      line = true;
      sizes.extraPerRow += term.kind == RowKind::Axis ? shape.keyAxes[term.axis].extent : pickedRows(term);
    } else if (term.kind == RowKind::Offset) {
      sizes.windowDepth += term.depth;
      sizes.windowShare = shareOf(term.offsets, shape.queries, shape.keys, kWindow);
      sizes.windowRows = std::max(sizes.windowRows, term.offsets.isMonotone() ? pickedRows(term) : offsets);
    } else if (term.kind == RowKind::Any) {
      line = true;
      sizes.keyRowSteps += term.depth * pickedRows(term);
    }
  }
  sizes.extraPerKey += line;
}

void skewer::addRowWork(const AttentionShape &shape, const Blocking &blocking, const Target &target, double keysSeen,
                        PredictedWork &work) {
  int64_t panel = blocking.tileVectors * target.lanes;
  double queries = static_cast<double>(shape.queries), keys = static_cast<double>(shape.keys);
  double blocks = std::max<double>(1, double(llvm::divideCeil(shape.queries, blocking.rowBlock)));
  double keyBlocks = std::max(1.0, keysSeen / static_cast<double>(std::max<int64_t>(1, blocking.keyBlock)));
  for (const RowTerm &term : shape.rows) {
    double picked = static_cast<double>(pickedRows(term)), products = 0; // of vectors and rows
    double offsets = static_cast<double>(term.offsets.rows.size());
    if (!term.keySide && term.kind == RowKind::Offset) {
      double window = std::min(offsets + 2 * panel, keysSeen + keyBlocks * (blocking.tileRows + panel));
      products = queries * std::min(picked, window);
      work.cycles += kLineCycles * queries * (window + keysSeen);
    } else if (!term.keySide) {
      products = queries * picked;
      work.cycles += target.gatherCycles * queries *
                     (term.kind == RowKind::Any ? keysSeen : double(shape.keyAxes[term.axis].extent));
    } else if (term.kind == RowKind::Offset) {
      double window = shareOf(term.offsets, shape.queries, shape.keys, kWindow) * double(blocking.rowBlock + panel);
      products = blocks * keysSeen * std::min(term.offsets.isMonotone() ? picked : offsets, window);
      work.cycles += kDiagonalCycles * queries * keysSeen;
    } else if (term.kind == RowKind::Any) {
      products = blocks * keysSeen * picked;
      work.cycles += target.gatherCycles * queries * keysSeen;
    } else {
      products = keys * picked;
      work.cycles += target.gatherCycles * keys * static_cast<double>(shape.queryAxes[term.axis].extent);
    }
    double flops = 2 * products * static_cast<double>(term.depth);
    work.matmulFlops += flops;
    work.cycles += flops / (2.0 * blocking.tileRows * static_cast<double>(panel)) *
                   multiplyCycles(blocking.tileRows, blocking.tileVectors, 1, blocking, target);
  }
}
