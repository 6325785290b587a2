// Stores the weights if they are a result of the kernel too. Each block of keys leaves its scores in the memory of that
// result, so that no other memory holds them. They are still in the caches when the maximum and the sum of the row are
// known and the scores become weights.
#include "passes/Cpu/Strategy.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// Returns the place of the first key in the row of a query.
Value CpuKernel::placeOfWeights(Value position) {
  return b.mul(b.add(b.mul(leadingIndex, queries()), position), keys());
}

/// Stores vectors of the keys [low, high), where `low` is the first key of a vector. The memory behind the last key of
/// all belongs to another row, which another worker may write. `mask` says which lanes are keys; null: all.
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

/// Marks all keys of a block of rows as hidden: blocks of keys that are skipped store nothing, but their weights must
/// be 0.
void CpuKernel::hideStoredWeights(const RowBlock &block) {
  if (!shape.further.weights || (!live.isLimited() && !runs && shape.masks.empty()))
    return;
  Value nothing = b.constant(shape.direct ? 0 : -std::numeric_limits<float>::infinity());
  b.loop(b.index(0), block.rows, 1, [&](Value row) {
    Value place = placeOfWeights(positionOf(block.firstRow, row));
    forVectorsOfKeys(b.index(0), keys(), place, [&](Value, Value) { return nothing; });
  });
}

/// Stores the scores of a row in a block of keys; direct weights are already final.
void CpuKernel::leaveScores(const RowBlock &block, Value row, Value lowKey, VectorRuns runsOfVectors) {
  if (!shape.further.weights)
    return;
  b.when(b.less(row, block.rows), [&] {
    Value place = placeOfWeights(positionOf(block.firstRow, row)), scores = b.sub(b.mul(row, scoreStride), lowKey);
    for (auto [lowVector, highVector] : runsOfVectors)
      forVectorsOfKeys(b.mul(lowVector, lanes), b.mul(highVector, lanes), place, [&](Value key, Value) {
        Value score = b.load(memory.scores, b.add(scores, key));
        return shape.direct ? b.addf(score, b.constant(0)) : score; // -0 means a hidden key
      });
  });
}

/// Turns the scores of a row into weights: exp(score - maximum) / sum. If the sum is NaN, the weights of all seen keys
/// are NaN. The scores do not tell which keys are seen, because -inf may be a score too.
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
