// Makes the lines of biases of a block, and adds them to its tiles (BiasLines.h).
#include "passes/Cpu/BiasLines.h"
#include "passes/Cpu/Strategy.h"
#include <limits>

using namespace mlir;
using namespace skewer;

namespace {
/// The innermost rows of a map of keys from which a block has keys.
struct MapRows {
  Value width, first, end;
};
} // namespace

/// Stores the terms over a map: for each index of the outer key axes, a sum of scalars plus vectors over the innermost
/// axis.
static void mapTerms(VectorBuilder &b, const BiasRow &row, const MapRows &rows, ArrayRef<AlongOuter> parts) {
  b.loop(rows.first, rows.end, 1, [&](Value outer) {
    Value firstKey = b.mul(outer, rows.width), base = b.constant(0);
    SmallVector<AlongInner> inner;
    for (const AlongOuter &part : parts)
      if (AlongInner along = part(outer, firstKey, base))
        inner.push_back(std::move(along));
    Value target = b.add(row.line, b.sub(firstKey, row.lowKey));
    b.loop(b.index(0), rows.width, b.lanes, [&](Value x) {
      Value sum = base;
      for (const AlongInner &along : inner)
        sum = along(x, sum);
      // The last vector of a map row reaches into the next row, which is written later.
      b.store(sum, row.memory, b.add(target, x));
    });
  });
}

/// Returns whether the vectors of a tile lie in one row of a map whose sizes are known.
bool BiasLines::tilesFitMap() const {
  return shape.keyAxes.size() > 1 && !shape.bounds.map && shape.keyAxes.back().extent % (g.tileVectors * g.lanes) == 0;
}

void BiasLines::plan(Layout &layout) {
  std::vector<bool> used(size_t(shape.sums), false);
  areDirect = g.weighing.termsByRows && tilesFitMap();
  for (const auto &strategy : strategies)
    areDirect &=
        llvm::is_contained({CpuStrategy::LineUse::None, CpuStrategy::LineUse::AddsAlongMap}, strategy->lineUse());
  for (const auto &strategy : strategies) {
    if (strategy->lineUse() != CpuStrategy::LineUse::None)
      used[strategy->sum()] = true;
    hides |= strategy->lineUse() == CpuStrategy::LineUse::Hides;
  }
  buffers.resize(used.size());
  for (auto [line, isUsed] : llvm::zip(buffers, used))
    layout.reserve(line, isUsed && !areDirect ? llvm::alignTo(g.rowBlock, g.lanes) * g.lineStride : 0,
                   Layout::Zone::Line);
}

void BiasLines::open() {
  if (shape.sums == 1 && buffers[0].floats)
    only = context.view(buffers[0]);
}

Value BiasLines::of(uint64_t sum) { return shape.sums == 1 ? only : context.view(buffers[sum]); }

void BiasLines::make(const KeyBlock &block) {
  for (uint64_t sum = 0; sum < buffers.size(); ++sum)
    if (buffers[sum].floats)
      makeOf(block, sum);
}

/// Returns how the strategies add to the line of a row, as far as they go along the map of keys.
SmallVector<AlongOuter> BiasLines::partsOf(const BiasRow &row, uint64_t sum) {
  SmallVector<AlongOuter> parts;
  for (const auto &strategy : strategies)
    if (strategy->sum() == sum)
      if (auto part = strategy->mapPart(row))
        parts.push_back(std::move(*part));
  return parts;
}

void BiasLines::makeOf(const KeyBlock &block, uint64_t sum) {
  Value lines = of(sum);
  bool isMap = shape.keyAxes.size() > 1 || shape.bounds.map;
  MapRows rows;
  if (isMap) {
    rows.width = shape.bounds.map ? positions.mapWidth : b.index(shape.keyAxes.back().extent);
    Value last = b.add(b.add(block.highKey, rows.width), -1);
    rows.first = arith::DivUIOp::create(b.builder, block.lowKey, rows.width);
    rows.end = arith::DivUIOp::create(b.builder, last, rows.width);
  }
  b.loop(b.index(0), block.rows, 1, [&](Value row) {
    Value position = b.add(block.firstRow, row);
    Value line = b.add(b.mul(row, g.lineStride), g.lineMargin);
    BiasRow biases{lines, block.firstRow, row, position, line, block.lowKey, block.highKey};
    SmallVector<AlongOuter> parts = partsOf(biases, sum);
    if (isMap && (shape.keyAxes.size() > 1 || !parts.empty()))
      mapTerms(b, biases, rows, parts);
    else
      b.loop(block.lowKey, block.highKey, b.lanes,
             [&](Value key) { b.store(b.constant(0), lines, b.add(line, b.sub(key, block.lowKey))); });
    for (const auto &strategy : strategies)
      if (strategy->sum() == sum)
        strategy->addToLine(biases);
  });
}

Value BiasLines::originOf(const ScoreTile &tile) {
  return b.add(b.add(b.mul(tile.row, g.lineStride), g.lineMargin), b.sub(tile.key, tile.lowKey));
}

/// Adds what the line of a row would hold to a tile of one row, whose keys lie in one row of the map.
void BiasLines::addDirectly(ScoreTile &tile) {
  int64_t width = shape.keyAxes.back().extent;
  Value outer = b.divide(tile.key, width), firstKey = b.mul(outer, width), base = b.constant(0);
  BiasRow row{{}, tile.firstRow, tile.row, tile.position, {}, tile.lowKey, {}};
  SmallVector<AlongInner> inner;
  for (const AlongOuter &part : partsOf(row, 0))
    if (AlongInner along = part(outer, firstKey, base))
      inner.push_back(std::move(along));
  for (int64_t v = 0; v < tile.vectors; ++v) {
    Value term = base;
    for (const AlongInner &along : inner)
      term = along(b.add(b.sub(tile.key, firstKey), v * g.lanes), term);
    tile.sums[v] = b.addf(tile.sums[v], term);
  }
}

void BiasLines::addTo(ScoreTile &tile, uint64_t sum) {
  if (areDirect)
    return addDirectly(tile);
  if (!buffers[sum].floats)
    return;
  bool hidesNow = sum == 0 && hides && shape.isPlainSoftmax();
  addToTile(b, of(sum), originOf(tile), g.lineStride, hidesNow, tile);
}

void BiasLines::hideKeys(ScoreTile &tile, Value mark) {
  Value nothing = b.constant(-std::numeric_limits<float>::infinity()), origin = originOf(tile), lines = of(0);
  for (int64_t r = 0; r < g.tileRows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value line = b.load(lines, b.add(origin, r * g.lineStride + v * b.lanes));
      Value &score = tile.sums[r * tile.vectors + v];
      score = b.select(b.compare(arith::CmpFPredicate::OEQ, line, nothing), mark, score);
    }
}

void skewer::addToTile(VectorBuilder &b, Value buffer, Value origin, int64_t rowStride, bool mayHide, ScoreTile &tile) {
  Value nothing = b.constant(-std::numeric_limits<float>::infinity());
  for (int64_t r = 0; r < tile.rows(); ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value term = b.load(buffer, b.add(origin, r * rowStride + v * b.lanes));
      Value &sum = tile.sums[r * tile.vectors + v];
      sum = b.addf(sum, term);
      if (mayHide)
        sum = b.select(b.compare(arith::CmpFPredicate::OEQ, term, nothing), nothing, sum);
    }
}
