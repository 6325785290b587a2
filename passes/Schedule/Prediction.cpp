// Counting what the loops of a scheduled attention do.
#include "passes/Schedule/Prediction.h"
#include "dialect/Subscript/Program.h"
#include "passes/Analysis/StridedShape.h"
#include "passes/Analysis/TermStrategy.h"
#include "passes/Schedule/RowWork.h"
#include "passes/Schedule/ValueWork.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::subscript;

// Counted in the loops that are made, whose scalar code goes at some four instructions a cycle on all processors
// described here.

// Cycles an element for what is evaluated one by one (terms of no tiled class, masks that are no interval), besides one
// multiplication and its loads for each contracted step.
static constexpr double kElementCycles = 6, kStepCycles = 4;
// Cycles a vector of a line of biases: its loads, adds and store, and the load in the tile.
static constexpr double kLineCycles = 3;
// Cycles an element to bring keys and values into panels, and queries into rows.
static constexpr double kPackCycles = 0.5;
static constexpr int64_t kMostElements = 1 << 24;

std::optional<OffsetCost> skewer::offsetCostOf(const AttentionShape &shape, const Target &target) {
  if (!mayAddStrided(shape))
    return std::nullopt;
  return compareOffsetStrategies(shape.queries, shape.keys, shape.content.front().depth, shape.width, target);
}

AttentionSizes skewer::sizesOf(const AttentionShape &shape, bool stridedAdd) {
  AttentionSizes sizes{shape.queries, shape.keys, 0, shape.width};
  for (const ContentTerm &term : shape.content)
    sizes.depth += term.depth;
  auto ofLine = [](BiasKind kind) { return kind == BiasKind::Element || kind == BiasKind::Lanes; };
  bool line = llvm::any_of(shape.masks, [&](const MaskPart &part) { return ofLine(part.kind); });
  for (const OtherTerm &term : shape.others)
    line |= ofLine(term.bias) || (term.bias == BiasKind::Difference && shape.keyAxes.size() > 1);
  for (const OffsetTerm &term : shape.offsets) {
    bool whole = term.queryAxis.isWhole(shape.queries) && term.keyAxis.isWhole(shape.keys);
    line |= !whole;
    if (whole)
      sizes.extraPerKey += !stridedAdd;
    else
      sizes.extraPerRow += term.keyAxis.extent + term.queryAxis.extent;
  }
  sizes.extraPerKey += line;
  sizes.stridedAdd = stridedAdd;
  addRowSizes(shape, sizes);
  return sizes;
}

namespace {
/// The keys that some row of [first, first + rows) may see.
Range liveKeys(const AttentionShape &shape, int64_t first, int64_t rows) {
  Range live{0, shape.keys - 1};
  if (shape.visible && shape.visible->low != INT64_MIN)
    live.low = std::max(live.low, first + shape.visible->low);
  if (shape.visible && shape.visible->high != INT64_MAX)
    live.high = std::min(live.high, first + rows - 1 + shape.visible->high);
  return live;
}

/// Looks at the elements of a tile, for the parts of a mask that are no interval.
class ElementMask {
public:
  explicit ElementMask(const AttentionShape &shape) : shape(shape), symbols(shape.space.query), program({}) {
    symbols.insert(symbols.end(), shape.space.key.begin(), shape.space.key.end());
    values.resize(symbols.size());
    program = Program(symbols);
    for (const MaskPart &part : shape.masks) {
      for (const std::string &symbol : symbolsOf(part.predicate))
        known &= std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
      predicates.push_back(program.add(part.predicate));
    }
    known &= shape.queries <= kMostElements / std::max<int64_t>(1, shape.keys);
  }

  bool sees(int64_t query, int64_t key) {
    set(0, shape.queryAxes, query);
    set(shape.queryAxes.size(), shape.keyAxes, key);
    program.run(values);
    for (size_t predicate : predicates) {
      auto seen = program.value(predicate);
      known &= seen.has_value();
      if (!seen || !*seen)
        return false;
    }
    return true;
  }
  bool known = true;

private:
  void set(size_t first, const std::vector<MapAxis> &axes, int64_t position) {
    for (size_t k = 0; k < axes.size(); ++k)
      values[first + k] = position / axes[k].inner % axes[k].extent;
  }

  const AttentionShape &shape;
  std::vector<std::string> symbols;
  std::vector<int64_t> values;
  Program program;
  std::vector<size_t> predicates;
};
} // namespace

std::optional<TileCounts> skewer::countTiles(const AttentionShape &shape, int64_t tileRows, int64_t tileKeys) {
  TileCounts counts;
  ElementMask mask(shape);
  for (int64_t row = 0; row < shape.queries; row += tileRows) {
    int64_t endRow = std::min(row + tileRows, shape.queries);
    Range live = liveKeys(shape, row, endRow - row);
    for (int64_t column = 0; column < shape.keys; column += tileKeys) {
      int64_t last = std::min(column + tileKeys, shape.keys) - 1;
      bool inPrefix = column < shape.prefix && column <= live.high;
      if (!inPrefix && (live.low > live.high || last < live.low || column > live.high)) {
        ++counts.dead, ++counts.skipped;
        continue;
      }
      // The interval moves with the query: the last row begins latest, the first one ends earliest.
      bool all = last <= liveKeys(shape, row, 1).high;
      all &= last < shape.prefix || liveKeys(shape, endRow - 1, 1).low <= std::max(column, shape.prefix);
      bool some = true;
      if (!shape.masks.empty()) {
        if (!mask.known)
          return std::nullopt;
        bool any = false;
        for (int64_t i = row; i < endRow && !(any && !all); ++i) {
          Range own = liveKeys(shape, i, 1);
          for (int64_t j = column; j <= std::min(last, own.high) && !(any && !all); ++j) {
            if (j < own.low && j >= shape.prefix)
              continue;
            bool seen = mask.sees(i, j);
            any |= seen;
            all &= seen;
          }
        }
        some = any;
      }
      ++(!some ? counts.dead : all ? counts.full : counts.edge);
    }
  }
  return mask.known ? std::optional<TileCounts>(counts) : std::nullopt;
}

PredictedWork skewer::predictWork(const AttentionShape &shape, const Blocking &blocking, const Target &target) {
  AttentionSizes sizes = sizesOf(shape, blocking.stridedAdd);
  int64_t lanes = target.lanes, rows = blocking.tileRows, panel = blocking.tileVectors * lanes;
  int64_t groups = llvm::divideCeil(shape.queries, rows), allColumns = llvm::alignTo(shape.keys, lanes);
  double columns = 0, keys = 0; // of all row groups: score columns that tiles compute, keys whose values are added
  for (int64_t group = 0; group < groups; ++group) {
    Range live = liveKeys(shape, group * rows, rows);
    if (int64_t before = std::min({shape.prefix, live.low, live.high + 1}); before > 0) {
      keys += static_cast<double>(before);
      columns += static_cast<double>(std::min<int64_t>(llvm::alignTo(before, panel), allColumns));
    }
    if (live.low > live.high)
      continue;
    keys += static_cast<double>(live.high - live.low + 1);
    columns += static_cast<double>(std::min<int64_t>(llvm::alignTo(live.high + 1, panel), allColumns) -
                                   live.low / panel * panel);
  }
  double share = columns / (static_cast<double>(groups) * static_cast<double>(allColumns));
  PredictedWork work;
  work.matmulFlops = 2.0 * rows * (columns * sizes.depth + keys * llvm::alignTo(shape.width, lanes));
  work.cycles = cyclesPerRow(sizes, blocking, target) * static_cast<double>(groups * rows) * share;

  double keyBlocks = std::max(1.0, share * llvm::divideCeil(shape.keys, std::max<int64_t>(1, blocking.keyBlock)));
  for (const OffsetTerm &term : shape.offsets) {
    if (blocking.stridedAdd)
      continue;
    double window; // columns of the table's product for one row group, all its key blocks together
    if (term.keyAxis.isWhole(shape.keys)) {
      window = keys / groups + keyBlocks * (rows - 1 + lanes / 2.0);
    } else {
      int64_t span = term.queryAxis.inner == 1 ? std::min(rows, term.queryAxis.extent) : 1;
      window = keyBlocks * llvm::alignTo(term.keyAxis.extent + span - 1, lanes);
    }
    double flops = 2.0 * rows * window * term.depth * groups;
    work.matmulFlops += flops;
    double full = multiplyCycles(rows, blocking.tileVectors, 1, blocking, target);
    work.cycles += flops / (2.0 * rows * panel) * full;
  }
  double elements = static_cast<double>(shape.queries) * static_cast<double>(shape.keys);
  if (!shape.others.empty() || !shape.masks.empty() || shape.offsets.size() > 1)
    work.cycles += kLineCycles * elements / lanes;
  for (const OtherTerm &term : shape.others) {
    if (term.bias != BiasKind::Element)
      continue; // prepared once a call, then part of the line
    double steps = 1;
    for (const std::string &axis : term.einsum.contracted)
      steps *= static_cast<double>(term.einsum.sizes.at(axis));
    if (term.application)
      work.cycles += elements * term.application->function->flops();
    work.cycles += elements * (kElementCycles + (term.einsum.contracted.empty() ? 0 : kStepCycles * steps));
  }
  if (llvm::any_of(shape.masks, [](const MaskPart &part) { return part.kind == BiasKind::Element; }))
    work.cycles += elements * kElementCycles;
  for (const RegisteredTerm &own : shape.registered) {
    TermWork more =
        own.strategy->work(own.term, shape, {lanes, rows, blocking.tileVectors, blocking.rowBlock, blocking.keyBlock});
    work.matmulFlops += more.flops;
    work.cycles += more.cycles;
  }
  addValueWork(shape, blocking, target, work);
  addRowWork(shape, blocking, target, columns / static_cast<double>(groups), work);
  work.cycles += kPackCycles * static_cast<double>((shape.queries + shape.keys) * sizes.depth);
  return work;
}
