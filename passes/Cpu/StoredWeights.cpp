// Weights that are a result of the kernel besides. A block of keys leaves its scores there, which are still in the
// caches when the row's maximum and sum are known and they become weights: no other memory holds them.
#include "passes/Cpu/Strategy.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// Of the first key of a query's row.
Value CpuKernel::placeOfWeights(Value position) {
  return b.mul(b.add(b.mul(leadingIndex, queries()), position), keys());
}

/// Stores vectors of the keys [low, high), where `low` is the first of a vector. What stands behind the last key of all
/// belongs to another row, which another worker may write: the mask says which lanes are keys; null: all.
void CpuKernel::forVectorsOfKeys(Value low, Value high, Value place,
                                 function_ref<Value(Value key, Value mask)> vector) {
  Value whole = b.maximum(low, b.minimum(high, b.mul(b.divide(keys(), lanes), lanes)));
  b.loop(low, whole, lanes, [&](Value key) { b.store(vector(key, {}), memory.weights, b.add(place, key)); });
  if (!keyLength && shape.keys % lanes == 0)
    return;
  b.when(b.less(whole, b.minimum(high, keys())), [&] {
    Value count = b.broadcastIndex(b.sub(keys(), whole));
    Value mask = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, b.laneNumbers(), count);
    vector::MaskedStoreOp::create(b.builder, memory.weights, b.add(place, whole), mask, vector(whole, mask));
  });
}

/// Where blocks of keys are left out, nothing else says that their weights are 0.
void CpuKernel::hideStoredWeights(const RowBlock &block) {
  if (!shape.further.weights || (!live.isLimited() && !runs && shape.masks.empty()))
    return;
  Value nothing = b.constant(shape.direct ? 0 : -std::numeric_limits<float>::infinity());
  b.loop(b.index(0), block.rows, 1, [&](Value row) {
    Value place = placeOfWeights(positionOf(block.firstRow, row));
    forVectorsOfKeys(b.index(0), keys(), place, [&](Value, Value) { return nothing; });
  });
}

/// The scores of a row in a block of keys; direct weights are what they will be.
void CpuKernel::leaveScores(const RowBlock &block, Value row, Value lowKey, VectorRuns runsOfVectors) {
  if (!shape.further.weights)
    return;
  b.when(b.less(row, block.rows), [&] {
    Value place = placeOfWeights(positionOf(block.firstRow, row)), scores = b.sub(b.mul(row, scoreStride), lowKey);
    for (auto [lowVector, highVector] : runsOfVectors)
      forVectorsOfKeys(b.mul(lowVector, lanes), b.mul(highVector, lanes), place, [&](Value key, Value) {
        Value score = b.load(memory.scores, b.add(scores, key));
        return shape.direct ? b.addf(score, b.constant(0)) : score; // -0 says that a key is hidden
      });
  });
}

/// exp(score - maximum) / sum of a row. Where that is NaN, so are the weights of all keys that are seen, and the scores
/// do not tell which those are: -inf is a score too.
void CpuKernel::finishWeights(Value row, Value position, Value inverse) {
  Value place = placeOfWeights(position);
  auto finish = [&] {
    Value lowest = b.constantScalar(-std::numeric_limits<float>::infinity());
    Value maximum = b.reduceMax(b.load(memory.maxima, b.mul(row, lanes)));
    Value none = b.compare(arith::CmpFPredicate::OEQ, maximum, lowest);
    Value reference = b.broadcast(b.select(none, b.constantScalar(0), maximum));
    forVectorsOfKeys(b.index(0), keys(), place, [&](Value key, Value mask) {
      Value at = b.add(place, key), score;
      if (mask)
        score = vector::MaskedLoadOp::create(b.builder, reference.getType(), memory.weights, at, mask, reference);
      else
        score = b.load(memory.weights, at);
      return b.mulf(b.exp(b.subf(score, reference)), inverse);
    });
  };
  if (!shape.further.seen)
    return finish();
  Value one = vector::ExtractOp::create(b.builder, inverse, ArrayRef<int64_t>{0});
  b.when(b.compare(arith::CmpFPredicate::ORD, one, one), finish, [&] {
    b.loop(b.index(0), keys(), 1, [&](Value key) {
      Value seen = positions.predicate(*shape.further.seen, positions.axesAt(position, key));
      b.storeScalar(b.select(seen, one, b.constantScalar(0)), memory.weights, b.add(place, key));
    });
  });
}
