// Goes through the tiles of a block, and emits their scores (ScoreTiles.h).
#include "passes/Cpu/ScoreTiles.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Cpu/Strategy.h"
#include "passes/Emit/EmitThrough.h"
#include "passes/Emit/VectorMath.h"

using namespace mlir;
using namespace skewer;

/// Returns how a strategy multiplies the content of a tile; null: the engine multiplies rows of queries × panels of
/// keys.
ProductsOfSteps ScoreTiles::ownProducts(const ScoreTile &tile) {
  ProductsOfSteps products;
  for (const auto &strategy : strategies)
    if (ProductsOfSteps own = strategy->contentProducts(tile))
      products = std::move(own);
  return products;
}

/// Adds all terms but the content to a tile, after the content and in one rounding. As initial values of the
/// accumulators they would need no addition, but each of the `depth` products would then round at the size of the bias:
/// measured 4.3e-6 of the largest output, instead of 1.9e-6, on a 64x64 map with unit-normal tables.
void ScoreTiles::addTerms(ScoreTile &tile, uint64_t sum) {
  for (const auto &strategy : strategies)
    if (strategy->sum() == sum)
      strategy->addToScores(tile);
  lines.addTo(tile, sum);
}

/// Returns whether a function of scores takes so many steps, as exponentials and quotients do, that a whole tile at
/// once leaves it no registers.
static bool isLong(Region &through) {
  return llvm::any_of(through.front(),
                      [](Operation &op) { return isa<arith::DivFOp>(op) || isa<math::MathDialect>(op.getDialect()); });
}

/// Applies a long function of one sum to the scores in memory, a few vectors at a time. On an Emerald Rapids core whose
/// other thread runs another program, softcap-1k takes 0.95 and sigmoid-1k 0.93 of the time that they take with the
/// whole tile in registers; 0.98 if they have the core alone.
void ScoreTiles::applyInPlace(ScoreTile &tile, ArrayRef<Value> places) {
  int64_t together = tile.vectors % 3 == 0 ? 3 : tile.vectors % 2 == 0 ? 2 : 1;
  for (auto [score, place] : llvm::zip(tile.sums, places))
    b.store(score, memory.scores, place);
  b.loop(b.index(0), b.index(g.tileRows), 1, [&](Value row) {
    Value from = b.add(places[0], b.mul(row, g.scoreStride));
    b.loop(b.index(0), b.index(tile.vectors * g.lanes), together * g.lanes, [&](Value x) {
      for (int64_t v = 0; v < together; ++v) {
        Value at = b.add(b.add(from, x), v * g.lanes);
        b.store(through({b.load(memory.scores, at)}), memory.scores, at);
      }
    });
  });
  for (auto [score, place] : llvm::zip(tile.sums, places))
    score = b.load(memory.scores, place);
}

Value ScoreTiles::through(ArrayRef<Value> sums) {
  return emitThrough(b.builder, *shape.through, sums,
                     [&](Operation *op, ValueRange operands) { return vectorFunction(b, op, operands); });
}

/// Applies the function of the sums to a tile. Keys are hidden after it.
void ScoreTiles::applyFunction(ScoreTile &tile, ArrayRef<Value> places) {
  if (shape.isPlainSoftmax())
    return;
  bool isInPlace = shape.through && shape.sums == 1 && isLong(*shape.through);
  if (isInPlace)
    applyInPlace(tile, places);
  std::vector<SmallVector<Value>> more; // of the other sums
  for (uint64_t sum = 1; sum < uint64_t(shape.sums); ++sum) {
    ScoreTile other{
        tile.firstRow, tile.lowKey, tile.group,   tile.row,  tile.position,
        tile.key,      tile.vector, tile.vectors, tile.last, more.emplace_back(tile.sums.size(), b.constant(0))};
    addTerms(other, sum);
  }
  for (size_t place = 0; place < tile.sums.size(); ++place) {
    Value &score = tile.sums[place];
    if (shape.through && !isInPlace) {
      SmallVector<Value> sums{score};
      for (const SmallVector<Value> &other : more)
        sums.push_back(other[place]);
      score = through(sums);
    }
    if (shape.direct) // -0 means a hidden key, so a weight of -0 becomes 0
      score = b.addf(score, b.constant(0));
  }
  if (lines.hide())
    lines.hideKeys(tile, hidden.mark());
}

/// Returns the tile, and fills `places` with the places of its scores.
ScoreTile ScoreTiles::tileAt(const KeyBlock &block, const Column &column, Value group, SmallVectorImpl<Value> &sums,
                             SmallVectorImpl<Value> &places) {
  auto [vector, vectors, last] = column;
  Value row = b.mul(group, g.tileRows);                     // within the block
  Value position = context.positionOf(block.firstRow, row); // of the tile's first query
  Value key = b.mul(vector, g.lanes);                       // of the tile's first key
  Value first = b.sub(key, block.lowKey);                   // within the key block
  Value held = b.add(b.mul(row, g.scoreStride), first);
  for (int64_t r = 0; r < g.tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      places.push_back(b.add(held, r * g.scoreStride + v * g.lanes));
  return {block.firstRow, block.lowKey, group, row, position, key, vector, vectors, last, sums};
}

void ScoreTiles::computeTile(const KeyBlock &block, const Column &column, Value group, Value state) {
  SmallVector<Value> places, sums(g.tileRows * column.vectors, b.constant(0));
  ScoreTile tile = tileAt(block, column, group, sums, places);
  if (g.depth)
    sums = content.sumsOf(tile, places, ownProducts(tile));
  if (!g.weighing.termsByRows)
    addTerms(tile, 0);
  applyFunction(tile, places);
  for (const auto &strategy : strategies)
    strategy->hide(tile);
  hidden.hide(tile, state);
  softmax.meet(tile, places);
}

/// Returns whether a tile may have hidden keys.
bool ScoreTiles::mayHide() const {
  return hidesKeys(shape) || shape.visible || shape.bounds.keyLength || shape.keys % g.lanes != 0;
}

/// Keys are hidden before the terms are added. A term may be infinite or NaN, so that a hidden key is marked once more.
SmallVector<Value> ScoreTiles::scoresOfRow(const KeyBlock &block, Value row, Value vector, int64_t count) {
  Value key = b.mul(vector, g.lanes), from = b.add(b.mul(row, g.scoreStride), b.sub(key, block.lowKey));
  SmallVector<Value> stored;
  for (int64_t v = 0; v < count; ++v)
    stored.push_back(b.load(memory.scores, b.add(from, v * g.lanes)));
  if (!g.weighing.termsByRows)
    return stored;
  Value scale = b.constant(float(content.scaleOfSums())), nothing = hidden.mark();
  SmallVector<Value> products;
  for (Value sum : stored)
    products.push_back(content.scaleOfSums() == 1 ? sum : b.mulf(sum, scale));
  SmallVector<Value> sums = products;
  sums.resize(g.tileRows * count, b.constant(0)); // rows that do not count
  Value group = b.divide(row, g.tileRows), position = context.positionOf(block.firstRow, row);
  ScoreTile tile{block.firstRow, block.lowKey, group, row, position, key, vector, count, false, sums, true};
  addTerms(tile, 0);
  sums.resize(count);
  if (mayHide() && sums != products)
    for (auto [sum, product] : llvm::zip(sums, stored))
      sum = b.select(b.compare(arith::CmpFPredicate::OEQ, product, nothing), nothing, sum);
  return sums;
}

void ScoreTiles::addTermsByRows(const KeyBlock &block, Value group, VectorRuns runs) {
  if (!g.weighing.termsByRows)
    return;
  Value firstRow = b.mul(group, g.tileRows);
  b.loop(firstRow, b.add(firstRow, g.tileRows), 1, [&](Value row) {
    Value from = b.mul(row, g.scoreStride);
    for (auto [low, high] : runs)
      b.loop(low, high, 1, [&](Value vector) {
        Value score = scoresOfRow(block, row, vector, 1).front();
        b.store(score, memory.scores, b.add(from, b.sub(b.mul(vector, g.lanes), block.lowKey)));
      });
  });
}

void ScoreTiles::computeKnownTile(const KeyBlock &block, const Column &column, Value group) {
  KeyRuns &runs = *context.runs;
  Value state = runs.stateOf(group, column.vector);
  b.when(
      runs.isSeen(state), [&] { computeTile(block, column, group, state); },
      [&] { b.when(runs.isHole(state), [&] { hidden.hideAll(block, group, column.vector, column.vectors); }); });
}

/// Leaves the sums of a tile up to the end of the chunk that begins at `first`, where its scores will be.
void ScoreTiles::leaveChunk(const KeyBlock &block, const Column &column, Value group, int64_t first) {
  SmallVector<Value> sums(g.tileRows * column.vectors, b.constant(0)), places;
  ScoreTile tile = tileAt(block, {column.vector, column.vectors, false}, group, sums, places);
  content.leaveChunk(tile, places, first, ownProducts(tile));
}

/// Stores the products of queries and keys where the scores of a column will be, for groups of which some see a key.
void ScoreTiles::multiplyColumn(const KeyBlock &block, const Column &column) {
  Value low = b.mul(column.vector, g.lanes), high = b.add(low, column.vectors * g.lanes);
  b.loop(b.index(0), block.groups, g.groupsTogether, [&](Value firstGroup) {
    Value some;
    for (int64_t number = 0; number < g.groupsTogether; ++number) {
      Value group = b.minimum(b.add(firstGroup, number), b.add(block.groups, -1));
      Value meets = live.meets(context.liveOf(block, group), block.lowKey, low, high);
      Value seen = context.runs->isSeen(context.runs->stateOf(group, column.vector));
      Value own = arith::AndIOp::create(b.builder, meets, seen);
      some = some ? arith::OrIOp::create(b.builder, some, own).getResult() : own;
    }
    b.when(some,
           [&] { content.multiplyAhead(block, firstGroup, column.vector, b.add(column.vector, column.vectors)); });
  });
}

/// Stores the products of queries and the keys of a block, as far as some row sees them.
void ScoreTiles::multiplyAhead(const KeyBlock &block, Value firstVector, Value endVector) {
  b.loop(b.index(0), block.groups, g.groupsTogether, [&](Value firstGroup) {
    if (!live.isLimited())
      return content.multiplyAhead(block, firstGroup, firstVector, endVector);
    auto seen = context.liveTogether(block, firstGroup);
    b.when(seen.some, [&] {
      // Tiles of scores begin at the block's first vector.
      int64_t keysOfTile = g.tileVectors * g.lanes;
      Value before = b.mul(b.divide(b.sub(seen.keys.low, block.lowKey), keysOfTile), g.tileVectors);
      Value end = b.divide(b.add(seen.keys.high, g.lanes - 1), g.lanes);
      content.multiplyAhead(block, firstGroup, b.add(firstVector, before), end);
    });
  });
}

void ScoreTiles::forLiveGroups(const KeyBlock &block, const Column &column, function_ref<void(Value group)> tile) {
  b.loop(b.index(0), block.groups, 1, [&](Value group) {
    if (!live.isLimited())
      return tile(group);
    Value key = b.mul(column.vector, g.lanes);
    b.when(live.meets(context.liveOf(block, group), block.lowKey, key, b.add(key, column.vectors * g.lanes)),
           [&] { tile(group); });
  });
}

void ScoreTiles::computeLiveColumn(const KeyBlock &block, const Column &column) {
  if (content.multipliesAhead() && context.runs)
    multiplyColumn(block, column);
  int64_t chunk = content.stepsOfPass();
  for (int64_t first = 0; first + chunk < g.depth; first += chunk)
    forLiveGroups(block, column, [&](Value group) { leaveChunk(block, column, group, first); });
  forLiveGroups(block, column, [&](Value group) {
    if (context.runs)
      computeKnownTile(block, column, group);
    else
      computeTile(block, column, group, {});
  });
}

/// Returns whether some row of the block sees some key of these vectors, counted from the first vector of the block;
/// null: not known.
Value ScoreTiles::isLive(Value vector, int64_t vectors) {
  for (const auto &strategy : strategies)
    if (Value live = strategy->isLive(vector, vectors))
      return live;
  return {};
}

void ScoreTiles::computeColumn(const KeyBlock &block, Value firstVector, const Column &column) {
  Value some = isLive(b.sub(column.vector, firstVector), column.vectors);
  if (!some)
    return computeLiveColumn(block, column);
  b.when(
      some, [&] { computeLiveColumn(block, column); },
      [&] {
        Value first = b.mul(b.sub(column.vector, firstVector), g.lanes), nothing = hidden.mark();
        b.loop(b.index(0), b.mul(block.groups, g.tileRows), 1, [&](Value row) {
          for (int64_t v = 0; v < column.vectors; ++v)
            b.store(nothing, memory.scores, b.add(b.add(b.mul(row, g.scoreStride), first), v * g.lanes));
        });
      });
}

/// Panels are in the outer loop and row groups in the inner loop, so that a panel stays in L1 while every group uses
/// it.
void ScoreTiles::compute(const KeyBlock &block, Value firstVector, Value endVector) {
  auto columns = [&](Value vector, int64_t vectors, bool last = false) {
    computeColumn(block, firstVector, {vector, vectors, last});
  };
  Value end = b.minimum(b.add(firstVector, g.keyBlock / g.lanes), endVector);
  if (content.multipliesAhead() && !context.runs)
    multiplyAhead(block, firstVector, end);
  // With a run-time length, the last keys are computed in single vectors: a whole tile would have up to three too many.
  if (shape.bounds.keyLength && !context.runs) {
    Value whole = b.mul(b.divide(b.sub(end, firstVector), g.tileVectors), g.tileVectors);
    whole = b.add(firstVector, whole);
    b.loop(firstVector, whole, g.tileVectors, [&](Value vector) { columns(vector, g.tileVectors); });
    b.loop(whole, end, 1, [&](Value vector) { columns(vector, 1); });
    return;
  }
  bool hasDots = content.dotKeys() > 0;
  int64_t inTiles = g.keyVectors - hasDots, rest = inTiles % g.tileVectors;
  if (rest == 0 && shape.keys % g.lanes && !hasDots)
    rest = g.tileVectors;
  Value lastWhole = b.index(inTiles - rest);
  b.loop(firstVector, b.minimum(end, lastWhole), g.tileVectors, [&](Value vector) { columns(vector, g.tileVectors); });
  if (rest)
    b.when(b.less(lastWhole, end), [&] { columns(lastWhole, rest, !hasDots); });
  if (hasDots)
    b.when(b.less(b.index(inTiles), end), [&] { columns(b.index(inTiles), 1, true); });
}
