// Packs weights, and multiplies them with the panels of values (PackedWeights.h).
#include "passes/Cpu/PackedWeights.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

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

/// Packs the `r`-th row of a group. `other` stands for what is in no run. Returns the state after the last vector.
SmallVector<Value> PackedWeights::packRow(const Group &group, Value r, float other, ScoresOfRow vectors,
                                          ValueRange initial, PackTile packTile) {
  KeyRange tiles = tilesOf(group.all);
  Value lowVector = b.divide(group.block.lowKey, g.lanes), lowTile = b.divide(lowVector, elements());
  Value row = b.add(b.mul(group.number, g.tileRows), r);
  Value firstPacked = b.mul(b.remainder(group.number, g.groupsTogether), g.tileRows);
  Value to = b.mul(b.add(firstPacked, r), rowStride());
  using Vectors = SmallVector<Value>;
  auto allOf = [&](Value first) { return vectors(row, first, elements()); };
  auto ownOf = [&](Value first) {
    Vectors some;
    for (int64_t e = 0; e < elements(); ++e) {
      Value vector = b.add(first, e), isOwn, none = b.constant(other);
      for (auto [low, high] : group.own) {
        Value inside = arith::AndIOp::create(b.builder, b.less(b.add(low, -1), vector), b.less(vector, high));
        isOwn = isOwn ? arith::OrIOp::create(b.builder, isOwn, inside).getResult() : inside;
      }
      // The result for a vector in no run is not used. It is loaded from the last run, so that the load stays inside.
      auto inRun = [&] { return b.maximum(b.minimum(vector, b.add(group.own.back().second, -1)), lowVector); };
      some.push_back(isOwn ? b.select(isOwn, vectors(row, inRun(), 1).front(), none) : none);
    }
    return some;
  };
  // Packed vectors of which all weights are in the last run need no test.
  Value wholeLow = tiles.high, wholeHigh = tiles.high;
  if (!group.own.empty()) {
    auto [low, high] = group.own.back();
    wholeLow = b.minimum(b.divide(b.add(low, elements() - 1), elements()), tiles.high);
    wholeHigh = b.maximum(wholeLow, b.minimum(b.divide(b.maximum(high, b.index(0)), elements()), tiles.high));
  }
  SmallVector<Value> state(initial);
  auto packTiles = [&](Value low, Value high, function_ref<Vectors(Value first)> vectorsOf) {
    state = b.loop(low, high, 1, state, [&](Value tile, ValueRange before) {
      SmallVector<Value> next(before);
      Value packedTile = packTile(vectorsOf(b.mul(tile, elements())), next);
      b.store(packedTile, packedMemory, b.add(to, b.mul(b.sub(tile, lowTile), g.lanes)));
      return next;
    });
  };
  if (group.isRare) {
    packTiles(tiles.low, tiles.high, ownOf);
    return state;
  }
  packTiles(tiles.low, wholeLow, ownOf);
  packTiles(wholeLow, wholeHigh, allOf);
  packTiles(wholeHigh, tiles.high, ownOf);
  return state;
}

void PackedWeights::pack(const KeyBlock &block, Value group, VectorRuns own, const KeyRange &all) {
  auto weights = [&](Value row, Value first, int64_t count) {
    SmallVector<Value> vectors;
    Value from = b.add(b.mul(row, g.scoreStride), b.sub(b.mul(first, g.lanes), block.lowKey));
    for (int64_t v = 0; v < count; ++v)
      vectors.push_back(b.load(memory.scores, b.add(from, v * g.lanes)));
    return vectors;
  };
  b.loop(b.index(0), b.index(g.tileRows), 1, [&](Value r) {
    packRow({block, group, own, all}, r, 0, weights, {},
            [&](ArrayRef<Value> weights, SmallVectorImpl<Value> &) { return engine().packWeights(b, weights); });
  });
}

bool PackedWeights::areMadePacked() const {
  if (!areUsed() || !shape.mayRoundWeights())
    return false;
  bool isOneChain = g.keyBlock <= kChain * g.lanes * elements(); // a chain adds one sum for each packed vector
  return isOneChain && engine().makesPowers(b, context.stage.target);
}

/// A weight that is made of NaN is 0, so that the numbers are tested beside. With loose references, weights may also be
/// too large for bf16. Both make the sum NaN.
///
/// A number that an engine takes is one FMA of a score. Its rounding is that of the reference, which all weights of a
/// row share. If a reference is so large that this rounding is more than 1/16 of a number, it is subtracted before.
void PackedWeights::packPowers(const KeyBlock &block, Value group, VectorRuns own, const KeyRange &keys,
                               ScoresOfRow scores) {
  constexpr float kNone = -std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kMostOctaves = 120;     // of a weight above 1
  constexpr float kExactBelow = 0x1p+21f; // twice 2^20, where neighbours in f32 are 1/8 apart
  auto [octave, one] = engine().powerScale();
  float ofScore = float(octave * g.weighing.scoreScale * llvm::numbers::log2e);
  Value most = b.constant(one + kMostOctaves * octave), mask = engine().maskOfPowers(b);
  Value ofOne = b.subf(b.constantScalar(one), b.mulf(softmax.octavesBelow(block), b.constantScalar(octave)));
  softmax.addWeights(b.mul(group, g.tileRows), [&](Value r, Value reference, Value total) {
    Value all = b.compare(arith::CmpFPredicate::ORD, b.constant(0), b.constant(0));
    SmallVector<Value> initial{total, all, all}; // the sum, and which lanes are good in the first vectors and in others
    auto test = [&](Value &good, arith::CmpFPredicate predicate, Value x, Value y) {
      good = arith::AndIOp::create(b.builder, good, b.compare(predicate, x, y));
    };
    auto packWith = [&](function_ref<Value(Value score)> number, bool isRare) {
      auto packTile = [&](ArrayRef<Value> ofTile, SmallVectorImpl<Value> &state) {
        SmallVector<Value> numbers = llvm::map_to_vector(ofTile, number);
        PackedPowers powers = engine().packPowers(b, mask, numbers, state[0]);
        state[0] = powers.total;
        if (g.weighing.looseReferences)
          for (auto [which, x] : llvm::enumerate(numbers))
            test(state[which ? 2 : 1], arith::CmpFPredicate::OLT, x, most);
        else
          test(state[1], arith::CmpFPredicate::ORD, numbers.front(), numbers.back());
        return powers.steps;
      };
      return packRow({block, group, own, keys, isRare}, r, kNone, scores, initial, packTile);
    };
    Value scale = b.constant(ofScore), beside = b.mulf(reference, b.constantScalar(ofScore));
    Value isExact =
        b.compare(arith::CmpFPredicate::OLT, math::AbsFOp::create(b.builder, beside), b.constantScalar(kExactBelow));
    SmallVector<Value> state = choose(
        b, isExact, ValueRange(initial).getTypes(),
        [&] {
          Value ofZero = b.broadcast(b.subf(ofOne, beside));
          return packWith([&](Value score) { return b.fma(score, scale, ofZero); }, /*isRare=*/false);
        },
        [&] {
          Value references = b.broadcast(reference), ones = b.broadcast(ofOne);
          return packWith([&](Value score) { return b.fma(b.subf(score, references), scale, ones); }, /*isRare=*/true);
        });
    Value areGood = arith::AndIOp::create(b.builder, state[1], state[2]);
    return b.select(areGood, state[0], b.constant(kNaN));
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
