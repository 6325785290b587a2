// Multiplies the weights of a group of rows with the values of a block of keys (ValueSums.h).
#include "passes/Cpu/ValueSums.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Cpu/WeightedSums.h"
#include "passes/Emit/VectorMath.h"

using namespace mlir;
using namespace skewer;

// Keys in one turn of the loop over keys that need no test; as many as the steps in a turn of an engine
// (RegisterTile.h).
static constexpr int64_t kUnroll = 4;

/// Returns `sums` if all are finite, else what `again` returns, which sums up seen keys only: a weight of 0 times a
/// value that is NaN or infinite is NaN. The values of a block are in the caches, so finite values cost only a test of
/// the sums instead of a pass over the values.
static SmallVector<Value> unlessFinite(VectorBuilder &b, SmallVector<Value> sums,
                                       function_ref<SmallVector<Value>()> again) {
  Value test = b.constant(0);
  for (Value sum : sums)
    test = b.fma(sum, b.constant(0), test);
  Value finite = b.compare(arith::CmpFPredicate::ORD, reduceAdd(b, test), b.constantScalar(0));
  return choose(
      b, finite, ValueRange(sums).getTypes(), [&] { return sums; }, again);
}

void ValueSums::plan(Layout &layout) {
  layout.reserve(accumulators, g.rowBlock * g.widthVectors * g.lanes, Layout::Zone::Block);
}

void ValueSums::open() { memory.accumulators = context.view(accumulators); }

bool ValueSums::areStoredOnce() const {
  const KeyBounds &bounds = shape.bounds;
  bool mayBeNone = shape.hasLength() || bounds.low || bounds.high || bounds.tiles || shape.visible || hidesKeys(shape);
  return !mayBeNone && !g.manyKeyBlocks && g.parts == 1 && !shape.prefix && !values.engine() &&
         shape.valueTerms.empty();
}

void ValueSums::begin(Value row) {
  if (areStoredOnce())
    return;
  for (int64_t v = 0; v < g.widthVectors; ++v)
    b.store(b.constant(0), memory.accumulators, b.add(b.mul(row, g.widthVectors * g.lanes), v * g.lanes));
}

/// Only 0 × a finite sum is 0. Several chains of sums hide the latency of an addition. The last row counts more than
/// once if the chains do not divide the rows.
Value ValueSums::someAreNoNumbers(Value rows) {
  constexpr int64_t kChains = 8;
  int64_t vectors = g.widthVectors, together = std::max<int64_t>(1, kChains / vectors);
  Value last = b.sub(rows, b.index(1));
  SmallVector<Value> tests(together * vectors, b.constant(0));
  tests = b.loop(b.index(0), rows, together, tests, [&](Value row, ValueRange so) {
    SmallVector<Value> next;
    for (int64_t r = 0; r < together; ++r) {
      Value from = b.mul(b.minimum(b.add(row, r), last), vectors * g.lanes);
      for (int64_t v = 0; v < vectors; ++v) {
        Value sum = b.load(memory.accumulators, b.add(from, v * g.lanes));
        next.push_back(b.fma(sum, b.constant(0), so[next.size()]));
      }
    }
    return next;
  });
  Value test = tests.pop_back_val();
  for (Value other : tests)
    test = b.addf(test, other);
  return b.compare(arith::CmpFPredicate::UNO, reduceAdd(b, test), b.constantScalar(0));
}

/// Returns the keys [first, second) of [low, high) whose values may be multiplied for every row of a group. Outside, a
/// key that a row does not see has weight 0, but its value may be NaN, so it must not be multiplied.
std::pair<Value, Value> ValueSums::untestedKeys(Value position, Value low, Value high) {
  Value allLow = low, allHigh = high;
  if (shape.visible && !context.runs) {
    if (shape.visible->low != INT64_MIN)
      allLow =
          b.maximum(low, b.minimum(high, b.add(b.add(position, live.lowestVisible()), (g.tileRows - 1) * g.rowStep)));
    if (shape.visible->high != INT64_MAX)
      allHigh = b.maximum(allLow, b.minimum(high, b.add(b.add(position, live.highestVisible()), 1)));
    else if (live.ofHead || live.ofBlock) // the interval may begin behind the last key that any row sees
      allHigh = b.maximum(allLow, high);
  }
  Value finite = values.areFinite();
  if (finite && g.rowStep > 1) {
    // Rows that are apart share only a short stretch of keys: the rest is long, and testing it costs.
    allLow = b.select(finite, low, allLow);
    allHigh = b.select(finite, high, allHigh);
  } else if (finite)
    allHigh = b.select(finite, allHigh, allLow);
  return {allLow, allHigh};
}

/// Stores the sums of a group from `out` on: those of earlier blocks of keys, in the scale of this block, plus `sums`.
void ValueSums::storeSums(Value row, Value out, int64_t vectors, ArrayRef<Value> sums) {
  bool rescales = g.manyKeyBlocks && !shape.direct;
  for (int64_t r = 0; r < g.tileRows; ++r) {
    Value scale = rescales ? b.broadcast(softmax.factor(b.add(row, r))) : Value();
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = b.add(out, (r * g.widthVectors + v) * g.lanes), sum = sums[r * vectors + v];
      if (rescales)
        sum = b.fma(scale, b.load(memory.accumulators, at), sum);
      else if (g.manyKeyBlocks)
        sum = b.addf(b.load(memory.accumulators, at), sum);
      b.store(sum, memory.accumulators, at);
    }
  }
}

void ValueSums::rescale(Value group) {
  if (!g.manyKeyBlocks || shape.direct)
    return;
  Value first = b.mul(group, g.tileRows);
  b.loop(first, b.add(first, g.tileRows), 1, [&](Value row) {
    Value factor = softmax.factor(row);
    b.when(b.compare(arith::CmpFPredicate::UNE, factor, b.constantScalar(1)), [&] {
      Value wide = b.broadcast(factor);
      for (int64_t v = 0; v < g.widthVectors; ++v) {
        Value at = b.add(b.mul(row, g.widthVectors * g.lanes), v * g.lanes);
        b.store(b.mulf(wide, b.load(memory.accumulators, at)), memory.accumulators, at);
      }
    });
  });
}

void ValueSums::addToStoredSums(Value out, int64_t vectors, ArrayRef<Value> more) {
  for (int64_t r = 0; r < g.tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = b.add(out, (r * g.widthVectors + v) * g.lanes);
      b.store(b.addf(b.load(memory.accumulators, at), more[r * vectors + v]), memory.accumulators, at);
    }
}

/// Returns `before`, sums of a group for some vectors of the values' width, plus the products of consecutive keys.
SmallVector<Value> ValueSums::addKeys(const KeyTurn &turn, int64_t firstVector, int64_t vectors,
                                      ArrayRef<Value> before) {
  SmallVector<Value> sums(before);
  // Turns of several keys begin at multiples of their number.
  SmallVector<Value> places = values.placesOf(turn.key, turn.count, firstVector * g.lanes, !live.beginsAnywhere());
  for (int64_t step = 0; step < turn.count; ++step) {
    SmallVector<Value> row;
    for (int64_t v = 0; v < vectors; ++v)
      row.push_back(b.load(values.memory(), b.add(places[step], v * g.lanes)));
    auto weightOf = [&](int64_t r) { return b.scalar(memory.scores, b.add(turn.weights, r * g.scoreStride + step)); };
    addWeighted(b, g.tileRows, row, weightOf, hidden.seenIf(turn.tested), sums,
                values.scaleAt(places[step], firstVector * g.lanes));
  }
  return sums;
}

void ValueSums::add(const WeightedRows &group) {
  Value lowKey = group.lowKey, low = group.low, high = group.high, finite = values.areFinite();
  Value row = b.mul(group.group, g.tileRows), position = context.positionOf(group.firstRow, row);
  Value weights = b.sub(b.mul(row, g.scoreStride), lowKey);
  int64_t outStride = g.widthVectors * g.lanes;
  Value endOfPrefix = shape.prefix ? live.prefixEnd(lowKey, high) : Value();
  if (shape.prefix) // there may be no keys besides the prefix
    high = b.maximum(low, high);
  auto [allLow, allHigh] = untestedKeys(position, low, high);
  for (int64_t firstVector = 0; firstVector < g.widthVectors; firstVector += g.tileVectors) {
    int64_t vectors = std::min(g.tileVectors, g.widthVectors - firstVector);
    Value out = b.add(b.mul(row, outStride), firstVector * g.lanes);
    // The sums of each block begin at 0, however many blocks there are: one chain over all keys would round at the size
    // of the result once for each key.
    SmallVector<Value> none(g.tileRows * vectors, b.constant(0)), sums = none;
    auto steps = [&](Value key, int64_t count, bool tested, ArrayRef<Value> sums) {
      return addKeys({key, count, b.add(weights, key), tested}, firstVector, vectors, sums);
    };
    auto run = [&](Value from, Value to, int64_t count, bool tested) {
      sums = b.loop(from, to, count, sums, [&](Value key, ValueRange carried) {
        if (count == kUnroll && firstVector == 0) {
          upcoming.fetch(position, key, kUnroll);
          values.fetchAhead(key, kUnroll);
        }
        return steps(key, count, tested, SmallVector<Value>(carried));
      });
    };
    int64_t chain = g.streaming && !hidesKeys(shape) ? kStreamedChain : kChain;
    bool chained = std::min(g.keyBlock, shape.keys) > chain;
    if (chained)
      storeSums(row, out, vectors, none);
    auto untested = [&](Value from, Value to) {
      Value whole = b.add(from, b.mul(b.divide(b.sub(to, from), kUnroll), kUnroll));
      if (chained)
        b.loop(from, whole, chain, [&](Value first) {
          auto ofChain =
              b.loop(first, b.minimum(b.add(first, chain), whole), kUnroll, none, [&](Value key, ValueRange carried) {
                return steps(key, kUnroll, false, SmallVector<Value>(carried));
              });
          addToStoredSums(out, vectors, ofChain);
        });
      else
        run(from, whole, kUnroll, false);
      run(whole, to, 1, false);
    };
    if (shape.prefix) {
      Value end = endOfPrefix, all = end;
      if (shape.visible->high != INT64_MAX)
        all = b.maximum(lowKey, b.minimum(all, b.add(b.add(position, live.highestVisible()), 1)));
      if (finite)
        all = b.select(finite, all, lowKey);
      untested(lowKey, all);
      run(all, end, 1, true);
    }
    if (shape.visible && shape.visible->low != INT64_MIN)
      run(low, allLow, 1, true);
    untested(allLow, allHigh);
    if (finite || (shape.visible && shape.visible->high != INT64_MAX))
      run(allHigh, high, 1, true);
    if (g.streaming && hidesKeys(shape))
      sums = unlessFinite(b, sums, [&] {
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
