// Counts the work of the loops of a scheduled attention.
#include "passes/Schedule/Prediction.h"
#include "passes/Analysis/DotKeys.h"
#include "passes/Schedule/ArithmeticCost.h"
#include "dialect/Subscript/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Analysis/StridedShape.h"
#include "passes/Analysis/TileTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::subscript;

// The constants are counted in generated loops.

// Cycles for each vector of a line of biases: its loads, additions and store, and the load in the tile.
static constexpr double kLineCycles = 3;
static constexpr int64_t kMostElements = 1 << 24;
// Cycles for each vector of scores of an operation in the function of the scores: two instructions per cycle for
// passes/Emit/VectorMath.cpp and for MLIR's erf; a division of whole vectors on a Zen 4 core; a library call for each
// lane.
static constexpr double kExpCycles = 10, kTanhCycles = 18, kErfCycles = 20, kDivideCycles = 8, kSimpleCycles = 0.5,
                        kCallCycles = 20;

AttentionSizes skewer::sizesOf(const AttentionShape &shape, const ChosenStrategies &chosen) {
  AttentionSizes sizes{shape.queries, shape.keys, 0, shape.width};
  for (auto [form, strategy] : chosen)
    strategy->addSizes(form, shape, sizes);
  for (const std::string &axis : shape.space.leading)
    if (int64_t size = shape.space.sizes.at(axis); size > 0)
      sizes.heads *= size;
  sizes.extraPerKey += sizes.hasLine + sizes.hasRowLine;
  sizes.tiles = shape.bounds.tiles;
  sizes.mayDot = mayMultiplyAsDots(shape) && !sizes.stridedAdd && !sizes.dotDepth && !sizes.keyRowSteps;
  sizes.storesWeights = shape.further.weights;
  // The position of the first query may be known only at run time.
  bool isFixed = shape.visibleShift.isConstant(0);
  if (shape.visible && !shape.prefix &&
      (isFixed || (shape.visible->low != INT64_MIN && shape.visible->high != INT64_MAX)))
    sizes.seen = shape.visible;
  return sizes;
}

double skewer::keyBlocksOf(const AttentionShape &shape, const TileSizes &tile) {
  double share = tile.columns / double(llvm::alignTo(shape.keys, tile.lanes));
  return std::max(1.0, share * double(llvm::divideCeil(shape.keys, std::max<int64_t>(1, tile.keyBlock))));
}
double skewer::rowBlocksOf(const AttentionShape &shape, const TileSizes &tile) {
  return std::max(1.0, double(llvm::divideCeil(shape.queries, tile.rowBlock)));
}

namespace {
/// Returns the keys that some row of [first, first + rows) may see.
Range liveKeys(const AttentionShape &shape, int64_t first, int64_t rows) {
  Range live{0, shape.keys - 1};
  if (shape.visible && shape.visible->low != INT64_MIN)
    live.low = std::max(live.low, first + shape.visible->low);
  if (shape.visible && shape.visible->high != INT64_MAX)
    live.high = std::min(live.high, first + rows - 1 + shape.visible->high);
  return live;
}

/// Evaluates, element by element, the parts of a mask that are not an interval.
class ElementMask {
public:
  explicit ElementMask(const AttentionShape &shape) : shape(shape), symbols(shape.space.query), program({}) {
    symbols.insert(symbols.end(), shape.space.key.begin(), shape.space.key.end());
    values.resize(symbols.size());
    program = Program(symbols);
    for (const MaskPart &part : llvm::concat<const MaskPart>(shape.masks, shape.bounds.parts)) {
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

/// Returns whether the mask consists only of the interval and of parts that are known pair by pair.
static bool isAllTiles(const AttentionShape &shape) {
  return shape.bounds.tiles && shape.bounds.parts.empty() &&
         llvm::all_of(shape.masks, [](const MaskPart &part) { return part.kind == BiasKind::Tiles; });
}

std::optional<TileCounts> skewer::countTiles(const AttentionShape &shape, int64_t tileRows, int64_t tileKeys,
                                             llvm::function_ref<void(int64_t, int64_t, TileState)> each) {
  TileCounts counts;
  auto count = [&](int64_t row, int64_t column, TileState state) {
    ++(state == TileState::Dead ? counts.dead : state == TileState::Edge ? counts.edge : counts.full);
    if (each)
      each(row, column, state);
  };
  if (isAllTiles(shape)) {
    TileMap map(*shape.bounds.tiles, tileRows, tileKeys);
    for (auto [place, state] : llvm::enumerate(map.all())) {
      TileState known = state == LiveTiles::State::Dead   ? TileState::Dead
                        : state == LiveTiles::State::Edge ? TileState::Edge
                                                          : TileState::Full;
      ++(known == TileState::Dead ? counts.dead : known == TileState::Edge ? counts.edge : counts.full);
      auto tile = static_cast<int64_t>(place);
      if (each && tile < map.groups * map.panels) // only the first head, if masks differ from head to head
        each(tile / map.panels * tileRows, tile % map.panels * tileKeys, known);
    }
    counts.skipped = counts.dead;
    return counts;
  }
  ElementMask mask(shape);
  for (int64_t row = 0; row < shape.queries; row += tileRows) {
    int64_t endRow = std::min(row + tileRows, shape.queries);
    Range live = liveKeys(shape, row, endRow - row);
    for (int64_t column = 0; column < shape.keys; column += tileKeys) {
      int64_t last = std::min(column + tileKeys, shape.keys) - 1;
      bool inPrefix = column < shape.prefix && column <= live.high;
      if (!inPrefix && (live.low > live.high || last < live.low || column > live.high)) {
        count(row, column, TileState::Dead);
        ++counts.skipped;
        continue;
      }
      // The interval moves with the query: the interval of the last row begins latest, that of the first row ends
      // first.
      bool all = last <= liveKeys(shape, row, 1).high;
      all &= last < shape.prefix || liveKeys(shape, endRow - 1, 1).low <= std::max(column, shape.prefix);
      bool some = true;
      if (!shape.masks.empty() || !shape.bounds.parts.empty()) {
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
      count(row, column, !some ? TileState::Dead : all ? TileState::Full : TileState::Edge);
      counts.skipped += !some && shape.bounds.tiles; // the tables skip it, though other mask parts are tested at edges
    }
  }
  return mask.known ? std::optional<TileCounts>(counts) : std::nullopt;
}

/// Returns the average tiles that the mask leaves for each row group. The rows of a group are `apart` rows apart.
static TileSizes tilesOf(const AttentionShape &shape, const Blocking &blocking, int64_t lanes, int64_t apart) {
  TileSizes tile{lanes, blocking.tileRows, blocking.tileVectors, blocking.rowBlock, blocking.keyBlock};
  int64_t rows = blocking.tileRows * apart, panel = blocking.tileVectors * lanes;
  int64_t groups = llvm::divideCeil(shape.queries, rows), allColumns = llvm::alignTo(shape.keys, lanes);
  if (shape.bounds.tiles) {
    TileShare share = shareOf(*shape.bounds.tiles, TileMap(*shape.bounds.tiles, rows, panel),
                              {lanes, rows, blocking.tileVectors, blocking.rowBlock, blocking.keyBlock});
    tile.keys = share.keys * double(shape.keys);
    tile.columns = share.scores * double(allColumns);
    return tile;
  }
  for (int64_t group = 0; group < groups; ++group) {
    Range live = liveKeys(shape, group * rows, rows);
    if (int64_t before = std::min({shape.prefix, live.low, live.high + 1}); before > 0) {
      tile.keys += double(before);
      tile.columns += double(std::min<int64_t>(llvm::alignTo(before, panel), allColumns));
    }
    if (live.low > live.high)
      continue;
    tile.keys += double(live.high - live.low + 1);
    tile.columns +=
        double(std::min<int64_t>(llvm::alignTo(live.high + 1, panel), allColumns) - live.low / panel * panel);
  }
  tile.keys /= double(groups);
  tile.columns /= double(groups);
  return tile;
}

double skewer::cyclesOfArithmetic(mlir::Operation &op, int64_t lanes) {
  if (mlir::isa<mlir::math::ExpOp>(op))
    return kExpCycles;
  if (mlir::isa<mlir::math::TanhOp>(op))
    return kTanhCycles;
  if (mlir::isa<mlir::math::ErfOp>(op))
    return kErfCycles;
  if (mlir::isa<mlir::arith::DivFOp, mlir::math::SqrtOp, mlir::math::RsqrtOp>(op))
    return kDivideCycles;
  if (mlir::isa<mlir::arith::ArithDialect>(op.getDialect()) || mlir::isa<mlir::math::AbsFOp>(op))
    return kSimpleCycles;
  return kCallCycles * double(lanes);
}

/// Returns the cycles of the scores' function for one vector of scores.
static double functionCycles(const AttentionShape &shape, int64_t lanes) {
  double cycles = 0;
  if (shape.through)
    for (mlir::Operation &op : shape.through->front().without_terminator())
      cycles += cyclesOfArithmetic(op, lanes);
  return cycles;
}

PredictedWork skewer::predictWork(const AttentionShape &shape, const ChosenStrategies &chosen, const Blocking &blocking,
                                  const Target &target) {
  AttentionSizes sizes = sizesOf(shape, chosen);
  int64_t apart = sizes.stridedAdd ? target.lanes : 1;
  TileSizes tile = tilesOf(shape, blocking, target.lanes, apart);
  // Count whole row groups; with strided addition, the groups of each phase.
  double rows = double(apart * llvm::alignTo(llvm::divideCeil(shape.queries, apart), blocking.tileRows));
  double share = tile.columns / double(llvm::alignTo(shape.keys, target.lanes));
  PredictedWork work;
  work.matmulFlops =
      2 * rows * (tile.columns * double(sizes.depth) + tile.keys * double(llvm::alignTo(shape.width, target.lanes)));
  work.cycles = cyclesPerRow(sizes, blocking, target) * rows * share;
  for (auto [form, strategy] : chosen) {
    TermWork more = strategy->work(form, shape, tile, target);
    work.matmulFlops += more.flops;
    work.cycles += more.cycles;
  }
  bool hasNumbers = llvm::any_of(shape.others, [](const OtherTerm &term) { return !term.own; });
  bool hasLines = llvm::any_of(shape.masks, [](const MaskPart &part) { return part.kind != BiasKind::Tiles; });
  if (hasNumbers || hasLines || shape.offsets.size() > 1)
    work.cycles += kLineCycles * double(shape.queries) * double(shape.keys) / double(target.lanes);
  work.cycles += functionCycles(shape, target.lanes) * rows * tile.columns / double(target.lanes);
  work.cycles += kPackCycles * double((shape.queries + shape.keys) * sizes.depth);
  return work;
}

double skewer::predictedCycles(const AttentionShape &shape, const ChosenStrategies &chosen, const Target &target) {
  return predictWork(shape, chosen, chooseBlocking(sizesOf(shape, chosen), target), target).cycles;
}
