// Packs weights, and multiplies them with the panels of values (PackedWeights.h).
#include "passes/Cpu/PackedWeights.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

// A packed vector holds the weights of lanes × elements() consecutive keys, counted from key 0. The packed row of a
// block begins with the one that holds the block's first key.

int64_t PackedWeights::rowStride() const { return (llvm::divideCeil(g.keyBlock, g.lanes * elements()) + 1) * g.lanes; }

void PackedWeights::plan(Layout &layout) {
  int64_t rows = areUsed() ? g.tileRows * g.groupsTogether : 0;
  layout.reserve(packed, rows ? rows * rowStride() : 0, Layout::Zone::Block);
}

void PackedWeights::open() {
  if (areUsed())
    packedMemory = context.view(packed);
}

/// Returns the packed vectors that hold the weights of a range of keys.
KeyRange PackedWeights::tilesOf(const KeyRange &keys) const {
  int64_t ofVector = g.lanes * elements();
  return {b.divide(keys.low, ofVector), b.divide(b.add(keys.high, ofVector - 1), ofVector)};
}

void PackedWeights::pack(const KeyBlock &block, Value group, VectorRuns own, const KeyRange &all) {
  KeyRange tiles = tilesOf(all);
  Value lowVector = b.divide(block.lowKey, g.lanes), lowTile = b.divide(lowVector, elements());
  auto weightsOf = [&](Value row, Value vector) {
    return b.load(memory.scores, b.add(b.mul(row, g.scoreStride), b.mul(b.sub(vector, lowVector), g.lanes)));
  };
  auto weightsIfOwn = [&](Value row, Value vector) {
    Value isOwn, none = b.constant(0);
    for (auto [low, high] : own) {
      Value inside = arith::AndIOp::create(b.builder, b.less(b.add(low, -1), vector), b.less(vector, high));
      isOwn = isOwn ? arith::OrIOp::create(b.builder, isOwn, inside).getResult() : inside;
    }
    return isOwn ? b.select(isOwn, weightsOf(row, b.maximum(vector, lowVector)), none) : none;
  };
  // Packed vectors of which all weights are in the last run need no test.
  Value wholeLow = tiles.high, wholeHigh = tiles.high;
  if (!own.empty()) {
    auto [low, high] = own.back();
    wholeLow = b.minimum(b.divide(b.add(low, elements() - 1), elements()), tiles.high);
    wholeHigh = b.maximum(wholeLow, b.minimum(b.divide(b.maximum(high, b.index(0)), elements()), tiles.high));
  }
  Value firstRow = b.mul(group, g.tileRows), firstPacked = b.mul(b.remainder(group, g.groupsTogether), g.tileRows);
  b.loop(b.index(0), b.index(g.tileRows), 1, [&](Value r) {
    Value row = b.add(firstRow, r), to = b.mul(b.add(firstPacked, r), rowStride());
    auto packTiles = [&](Value low, Value high, function_ref<Value(Value row, Value vector)> weights) {
      b.loop(low, high, 1, [&](Value tile) {
        SmallVector<Value> ofTile;
        for (int64_t e = 0; e < elements(); ++e)
          ofTile.push_back(weights(row, b.add(b.mul(tile, elements()), e)));
        b.store(engine().packWeights(b, ofTile), packedMemory, b.add(to, b.mul(b.sub(tile, lowTile), g.lanes)));
      });
    };
    packTiles(tiles.low, wholeLow, weightsIfOwn);
    packTiles(wholeLow, wholeHigh, weightsOf);
    packTiles(wholeHigh, tiles.high, weightsIfOwn);
  });
}

void PackedWeights::multiply(const KeyBlock &block, Value firstGroup, const KeyRange &all) {
  KeyRange tiles = tilesOf(all);
  Value first = b.mul(tiles.low, g.lanes), lowTile = b.divide(b.divide(block.lowKey, g.lanes), elements());
  int64_t width = g.widthVectors * g.lanes;
  Value position = context.positionOf(block.firstRow, b.mul(firstGroup, g.tileRows));
  auto fetch = [&](Value step) { upcoming.fetch(position, b.mul(step, elements()), kStepsOfTurn * elements()); };
  engine().addProduct(b, {g.tileRows * g.groupsTogether,
                          g.widthVectors,
                          first,
                          b.mul(tiles.high, g.lanes),
                          {packedMemory, b.mul(lowTile, -g.lanes), rowStride()},
                          values.panels(),
                          {memory.accumulators, b.mul(firstGroup, g.tileRows * width), width},
                          fetch});
}
