// Multiplies weights with values and writes finished rows. CpuKernel calls it for each group of rows in a block of
// keys, and at the end of a block of rows.
#include "passes/Analysis/FunctionRange.h"
#include "passes/Cpu/Strategy.h"
#include "passes/Cpu/WeightedSums.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

// Keys in one turn of the loop over keys that need no test; as many as the steps in a turn of an engine (RegisterTile.h).
static constexpr int64_t kUnroll = 4;

/// Returns `sums` if all are finite, else what `again` returns, which sums up seen keys only: a weight of 0 times a
/// value that is NaN or infinite is NaN. The values of a block are in the caches, so finite values cost only a test of
/// the sums instead of a pass over the values.
SmallVector<Value> CpuKernel::unlessFinite(SmallVector<Value> sums, function_ref<SmallVector<Value>()> again) {
  Value test = b.constant(0);
  for (Value sum : sums)
    test = b.fma(sum, b.constant(0), test);
  Value finite = b.compare(arith::CmpFPredicate::ORD, b.reduceAdd(test), b.constantScalar(0));
  auto branch = scf::IfOp::create(b.builder, ValueRange(sums).getTypes(), finite, true);
  b.builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b.builder, sums);
  b.builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b.builder, again());
  b.builder.setInsertionPointAfter(branch);
  return branch.getResults();
}

/// Prefetches the values that come kFetchedAhead bytes after those of this turn, if values are read once.
void CpuKernel::fetchValuesAhead(Value key, int64_t keysOfTurn) {
  if (!streaming || buffers.values.floats)
    return;
  int64_t ahead = llvm::divideCeil(kFetchedAhead, bytesOf(shape.value.argument) * shape.width);
  bool onePage = picksValues() && isOnePage(shape.value, keysOfTurn); // except behind the last key
  auto placeOf = [&](int64_t step) {
    Value later = b.add(key, ahead + step);
    return valuePlace(picksValues() ? b.minimum(later, b.index(shape.keys - 1)) : later, 0);
  };
  for (Value place : positions.keyPlaces(shape.value, keysOfTurn, onePage, placeOf))
    for (int64_t d = 0; d < shape.width; d += kLineBytes / bytesOf(shape.value.argument))
      b.prefetch(memory.values, b.add(place, d));
}

/// Returns the place of a key's values from `offset` on.
Value CpuKernel::valuePlace(Value key, int64_t offset) {
  if (picksValues())
    return b.add(positions.keyPlace(shape.value, key), offset);
  return b.add(b.add(valueBase, b.mul(key, valueStride)), offset);
}

/// Returns the keys [first, second) of [low, high) whose values may be multiplied for every row of a group. Outside, a
/// key that a row does not see has weight 0, but its value may be NaN, so it must not be multiplied.
std::pair<Value, Value> CpuKernel::untestedKeys(Value position, Value low, Value high) {
  Value allLow = low, allHigh = high;
  if (shape.visible && !runs) {
    if (shape.visible->low != INT64_MIN)
      allLow = b.maximum(low, b.minimum(high, b.add(b.add(position, live.lowestVisible()), (tileRows - 1) * rowStep)));
    if (shape.visible->high != INT64_MAX)
      allHigh = b.maximum(allLow, b.minimum(high, b.add(b.add(position, live.highestVisible()), 1)));
    else if (live.ofHead || live.ofBlock) // the interval may begin behind the last key that any row sees
      allHigh = b.maximum(allLow, high);
  }
  if (valuesFinite && rowStep > 1) {
    // Rows that are apart share only a short stretch of keys: the rest is long, and testing it costs.
    allLow = b.select(valuesFinite, low, allLow);
    allHigh = b.select(valuesFinite, high, allHigh);
  } else if (valuesFinite)
    allHigh = b.select(valuesFinite, allHigh, allLow);
  return {allLow, allHigh};
}

/// Stores the sums of a group from `out` on: those of earlier blocks of keys, in the scale of this block, plus `sums`.
void CpuKernel::storeSums(Value row, Value out, int64_t vectors, ArrayRef<Value> sums) {
  bool rescales = manyKeyBlocks && !shape.direct;
  for (int64_t r = 0; r < tileRows; ++r) {
    Value scale = rescales ? b.loadBroadcast(memory.scales, b.add(row, r)) : Value();
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = b.add(out, (r * widthVectors + v) * lanes), sum = sums[r * vectors + v];
      if (rescales)
        sum = b.fma(scale, b.load(memory.accumulators, at), sum);
      else if (manyKeyBlocks)
        sum = b.addf(b.load(memory.accumulators, at), sum);
      b.store(sum, memory.accumulators, at);
    }
  }
}
void CpuKernel::addToStoredSums(Value out, int64_t vectors, ArrayRef<Value> more) {
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = b.add(out, (r * widthVectors + v) * lanes);
      b.store(b.addf(b.load(memory.accumulators, at), more[r * vectors + v]), memory.accumulators, at);
    }
}

/// Returns `before`, sums of a group for some vectors of the values' width, plus the products of consecutive keys.
SmallVector<Value> CpuKernel::addKeys(const KeyTurn &turn, int64_t firstVector, int64_t vectors,
                                      ArrayRef<Value> before) {
  SmallVector<Value> sums(before);
  Value value = picksValues() ? Value() : valuePlace(turn.key, firstVector * lanes);
  auto placeOf = [&](int64_t step) {
    return picksValues() ? valuePlace(b.add(turn.key, step), firstVector * lanes) : b.add(value, step * valueStride);
  };
  // Turns of several keys begin at multiples of their number, so that no turn spans two pages.
  bool onePage = picksValues() && !live.beginsAnywhere() && isOnePage(shape.value, turn.count);
  SmallVector<Value> rows = positions.keyPlaces(shape.value, turn.count, onePage, placeOf);
  for (int64_t step = 0; step < turn.count; ++step) {
    SmallVector<Value> values;
    for (int64_t v = 0; v < vectors; ++v)
      values.push_back(b.load(memory.values, b.add(rows[step], v * lanes)));
    auto weightOf = [&](int64_t r) { return b.scalar(memory.scores, b.add(turn.weights, r * scoreStride + step)); };
    addWeighted(b, tileRows, values, weightOf, seenIf(turn.tested), sums);
  }
  return sums;
}

void CpuKernel::accumulateValues(Value group, Value firstRow, Value lowKey, Value low, Value high) {
  Value row = b.mul(group, tileRows), position = positionOf(firstRow, row);
  Value weights = b.sub(b.mul(row, scoreStride), lowKey);
  int64_t outStride = widthVectors * lanes;
  Value endOfPrefix = shape.prefix ? live.prefixEnd(lowKey, high) : Value();
  if (shape.prefix) // there may be no keys besides the prefix
    high = b.maximum(low, high);
  auto [allLow, allHigh] = untestedKeys(position, low, high);
  for (int64_t firstVector = 0; firstVector < widthVectors; firstVector += tileVectors) {
    int64_t vectors = std::min(tileVectors, widthVectors - firstVector);
    Value out = b.add(b.mul(row, outStride), firstVector * lanes);
    // The sums of each block begin at 0, however many blocks there are: one chain over all keys would round at the size
    // of the result once for each key.
    SmallVector<Value> none(tileRows * vectors, b.constant(0)), sums = none;
    auto steps = [&](Value key, int64_t count, bool tested, ArrayRef<Value> sums) {
      return addKeys({key, count, b.add(weights, key), tested}, firstVector, vectors, sums);
    };
    auto run = [&](Value from, Value to, int64_t count, bool tested) {
      sums = b.loop(from, to, count, sums, [&](Value key, ValueRange carried) {
        if (count == kUnroll && firstVector == 0) {
          fetchUpcoming(position, key, kUnroll);
          fetchValuesAhead(key, kUnroll);
        }
        return steps(key, count, tested, SmallVector<Value>(carried));
      });
    };
    bool chained = std::min(keyBlock, shape.keys) > kChain;
    if (chained)
      storeSums(row, out, vectors, none);
    auto untested = [&](Value from, Value to) {
      Value whole = b.add(from, b.mul(b.divide(b.sub(to, from), kUnroll), kUnroll));
      if (chained)
        b.loop(from, whole, kChain, [&](Value first) {
          auto chain =
              b.loop(first, b.minimum(b.add(first, kChain), whole), kUnroll, none, [&](Value key, ValueRange carried) {
                return steps(key, kUnroll, false, SmallVector<Value>(carried));
              });
          addToStoredSums(out, vectors, chain);
        });
      else
        run(from, whole, kUnroll, false);
      run(whole, to, 1, false);
    };
    if (shape.prefix) {
      Value end = endOfPrefix, all = end;
      if (shape.visible->high != INT64_MAX)
        all = b.maximum(lowKey, b.minimum(all, b.add(b.add(position, live.highestVisible()), 1)));
      if (valuesFinite)
        all = b.select(valuesFinite, all, lowKey);
      untested(lowKey, all);
      run(all, end, 1, true);
    }
    if (shape.visible && shape.visible->low != INT64_MIN)
      run(low, allLow, 1, true);
    untested(allLow, allHigh);
    if (valuesFinite || (shape.visible && shape.visible->high != INT64_MAX))
      run(allHigh, high, 1, true);
    if (streaming && hidesKeys(shape))
      sums = unlessFinite(sums, [&] {
        sums = none;
        if (shape.prefix)
          run(lowKey, endOfPrefix, 1, true);
        run(low, high, 1, true);
        return sums;
      });
    if (chained)
      addToStoredSums(out, vectors, sums);
    else
      storeSums(row, out, vectors, sums);
  }
}

void CpuKernel::writeRows(Value firstRow, Value rows) {
  Value base = shape.result.picked || stage.finishRow ? Value() : positions.baseOf(shape.result.base);
  auto inverseOf = [&](Value sum) {
    // A row that sees no key gives 0. A NaN is not equal to 0, so it stays.
    Value empty = b.compare(arith::CmpFPredicate::OEQ, sum, b.constantScalar(0));
    Value inverse = b.divf(b.constantScalar(1), sum);
    return b.broadcast(b.select(empty, b.constantScalar(0), inverse));
  };
  b.loop(b.index(0), rows, 1, [&](Value row) {
    Value sum = b.scalar(memory.sums, row), factor;
    if (shape.direct) {
      writeTotal(row, firstRow, sum);
    } else {
      writeLogSum(row, firstRow, sum);
      factor = inverseOf(sum);
    }
    Value from = b.mul(row, widthVectors * lanes);
    Value position = positionOf(firstRow, row);
    if (factor && shape.further.weights)
      finishWeights(row, position, inverseOf(b.mulf(sum, factorToWhole(sum))));
    if (stage.finishRow)
      return finishRow(position, from, factor);
    Value to = shape.result.picked ? positions.indexOf(*shape.result.picked, positions.axesAt(position, {}))
                                   : b.add(base, b.mul(position, shape.result.query));
    SmallVector<Value> sums;
    for (int64_t v = 0; v < widthVectors; ++v) {
      Value x = b.load(memory.accumulators, b.add(from, v * lanes));
      sums.push_back(factor ? b.mulf(x, factor) : x);
    }
    storeRow(sums, to);
  });
}

/// Multiplies a row in its accumulators by `factor`, as if to store it, and passes it to the arithmetic that finishes
/// it.
void CpuKernel::finishRow(Value position, Value from, Value factor) {
  for (int64_t v = 0; factor && v < widthVectors; ++v) {
    Value at = b.add(from, v * lanes);
    b.store(b.mulf(b.load(memory.accumulators, at), factor), memory.accumulators, at);
  }
  stage.finishRow(position, memory.accumulators, from);
}
