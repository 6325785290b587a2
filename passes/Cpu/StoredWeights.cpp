// Stores scores, and turns them into weights where they lie (StoredWeights.h).
#include "passes/Cpu/StoredWeights.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// Returns the place of the first key in the row of a query.
Value StoredWeights::placeOf(Value position) {
  return b.mul(b.add(b.mul(positions.head(), positions.queries()), position), positions.keys());
}

/// Stores vectors of the keys [low, high), where `low` is the first key of a vector. The memory behind the last key of
/// all belongs to another row, which another worker may write. `mask` says which lanes are keys; null: all.
void StoredWeights::forVectorsOfKeys(Value low, Value high, Value place,
                                     function_ref<Value(Value key, Value mask)> vector) {
  Value whole = b.maximum(low, b.minimum(high, b.mul(b.divide(positions.keys(), g.lanes), g.lanes)));
  b.loop(low, whole, g.lanes, [&](Value key) { b.store(vector(key, {}), memory.weights, b.add(place, key)); });
  if (!positions.keyLength() && shape.keys % g.lanes == 0)
    return;
  b.when(b.less(whole, b.minimum(high, positions.keys())), [&] {
    Value count = broadcastIndex(b, b.sub(positions.keys(), whole));
    Value mask = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, laneNumbers(b), count);
    vector::MaskedStoreOp::create(b.builder, memory.weights, b.add(place, whole), mask, vector(whole, mask));
  });
}

void StoredWeights::hideAll(const RowBlock &block) {
  if (!areResult() || (!live.isLimited() && !context.runs && shape.masks.empty()))
    return;
  Value nothing = b.constant(shape.direct ? 0 : -std::numeric_limits<float>::infinity());
  b.loop(b.index(0), block.rows, 1, [&](Value row) {
    Value place = placeOf(context.positionOf(block.firstRow, row));
    forVectorsOfKeys(b.index(0), positions.keys(), place, [&](Value, Value) { return nothing; });
  });
}

void StoredWeights::leaveScores(const KeyBlock &block, Value row, VectorRuns runs) {
  b.when(b.less(row, block.rows), [&] {
    Value place = placeOf(context.positionOf(block.firstRow, row));
    Value scores = b.sub(b.mul(row, g.scoreStride), block.lowKey);
    for (auto [lowVector, highVector] : runs)
      forVectorsOfKeys(b.mul(lowVector, g.lanes), b.mul(highVector, g.lanes), place, [&](Value key, Value) {
        Value score = b.load(memory.scores, b.add(scores, key));
        return shape.direct ? b.addf(score, b.constant(0)) : score; // -0 means a hidden key
      });
  });
}

void StoredWeights::finish(Value row, Value position, Value inverse) {
  Value place = placeOf(position);
  auto finish = [&] {
    Value reference = softmax.reference(row);
    forVectorsOfKeys(b.index(0), positions.keys(), place, [&](Value key, Value mask) {
      Value at = b.add(place, key), score;
      if (mask)
        score = vector::MaskedLoadOp::create(b.builder, reference.getType(), memory.weights, at, mask, reference);
      else
        score = b.load(memory.weights, at);
      return b.mulf(expOfWeight(b, b.subf(score, reference)), inverse);
    });
  };
  if (!shape.further.seen)
    return finish();
  Value one = vector::ExtractOp::create(b.builder, inverse, ArrayRef<int64_t>{0});
  b.when(b.compare(arith::CmpFPredicate::ORD, one, one), finish, [&] {
    b.loop(b.index(0), positions.keys(), 1, [&](Value key) {
      Value seen = positions.predicate(*shape.further.seen, positions.axesAt(position, key));
      b.storeScalar(b.select(seen, one, b.constantScalar(0)), memory.weights, b.add(place, key));
    });
  });
}
