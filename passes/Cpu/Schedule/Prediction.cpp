// Counts the work of the loops of a scheduled attention.
#include "passes/Cpu/Schedule/Prediction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Analysis/DotKeys.h"
#include "passes/Analysis/TileCounts.h"
#include "passes/Analysis/TileTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::subscript;

// The constants are counted in generated loops.

// Cycles for each vector of a line of biases: its loads, additions and store, and the load in the tile.
static constexpr double kLineCycles = 3;
// Cycles for each vector of scores of an operation in the function of the scores: two instructions per cycle for
// passes/Emit/VectorMath.cpp and for MLIR's erf; a division of whole vectors on a Zen 4 core; a library call for each
// lane.
static constexpr double kExpCycles = 10, kTanhCycles = 18, kErfCycles = 20, kDivideCycles = 8, kSimpleCycles = 0.5,
                        kCallCycles = 20;

AttentionSizes skewer::sizesOf(const AttentionShape &shape, const ChosenStrategies &chosen) {
  AttentionSizes sizes{shape.queries, shape.keys, 0, shape.width};
  for (auto [form, strategy] : chosen) {
    strategy->addSizes(form, shape, sizes);
    sizes.isInPhases |= strategy->isInPhases();
  }
  for (const std::string &axis : shape.space.leading)
    if (int64_t size = shape.space.sizes.at(axis); size > 0)
      sizes.heads *= size;
  sizes.extraPerKey += sizes.hasLine + sizes.hasRowLine;
  sizes.tiles = shape.bounds.tiles;
  sizes.mayDot = mayMultiplyAsDots(shape) && !sizes.depthInPlace && !sizes.readsPanels;
  sizes.storesWeights = shape.further.weights;
  // Next to further results, the result is finished behind the attention, from memory of f32.
  const FurtherResults &further = shape.further;
  bool isAlone = !further.lse && !further.total && !further.weights;
  sizes.values.element = shape.value.element;
  sizes.values.result = isAlone ? shape.result.element : ElementType::F32;
  sizes.values.areRows = shape.value.depth == 1;
  sizes.mayMakePowers = shape.mayRoundWeights();
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
    Range live = keysInInterval(shape, group * rows, rows);
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
  int64_t apart = sizes.isInPhases ? target.lanes : 1;
  TileSizes tile = tilesOf(shape, blocking, target.lanes, apart);
  // Count whole row groups, in phases the groups of each phase.
  double rows = double(apart * llvm::alignTo(llvm::divideCeil(shape.queries, apart), blocking.tileRows));
  double share = tile.columns / double(llvm::alignTo(shape.keys, target.lanes));
  PredictedWork work;
  work.matmulFlops =
      2 * rows * (tile.columns * double(sizes.depth) + tile.keys * double(llvm::alignTo(shape.width, target.lanes)));
  work.cycles = cyclesPerRow(sizes, blocking, target) * rows * share;
  work.productsOverFma = productsOverFma(sizes, blocking, target);
  work.sumsIntegers = sumsIntegers(sizes, target);
  for (auto [form, strategy] : chosen) {
    TermWork more = strategy->work(form, shape, tile, target);
    work.matmulFlops += more.flops;
    work.cycles += more.cycles;
  }
  bool hasNumbers = llvm::any_of(shape.others, [](const OtherTerm &term) { return !term.own; });
  bool hasLines = llvm::any_of(shape.masks, [](const MaskPart &part) { return part.kind != BiasKind::Tiles; });
  auto isLinear = [](const RowTerm &term) { return term.kind == RowKind::Linear; };
  if (hasNumbers || hasLines || llvm::count_if(shape.rows, isLinear) > 1)
    work.cycles += kLineCycles * double(shape.queries) * double(shape.keys) / double(target.lanes);
  work.cycles += functionCycles(shape, target.lanes) * rows * tile.columns / double(target.lanes);
  work.cycles += kPackCycles * double((shape.queries + shape.keys) * sizes.depth);
  return work;
}

double skewer::predictedCycles(const AttentionShape &shape, const ChosenStrategies &chosen, const Target &target) {
  return predictWork(shape, chosen, chooseBlocking(sizesOf(shape, chosen), target), target).cycles;
}
