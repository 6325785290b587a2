// Emits the exponentials of rows, their sums, and what rescales them (RowSoftmax.h).
#include "passes/Cpu/RowSoftmax.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Cpu/WeightedSums.h"
#include "passes/Emit/LogSum.h"
#include "passes/Emit/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace skewer;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// The factor of the smaller weights of a second pass. It is a power of two, so that they lose no digit. For up to 2^39
/// keys, the sum of such weights is below 1/2, and the sum of weights × values is finite.
static constexpr float kSmaller = 0x1p-40f;

void RowSoftmax::plan(Layout &layout) {
  layout.reserve(maximaBuffer, g.rowBlock * g.lanes, Layout::Zone::Block);
  layout.reserve(sumsBuffer, g.rowBlock, Layout::Zone::Block);
  layout.reserve(scalesBuffer, 2 * g.rowBlock, Layout::Zone::Block);
  layout.reserve(shiftsBuffer, shape.further.lse ? g.rowBlock : 0, Layout::Zone::Block);
}

void RowSoftmax::open() {
  maxima = context.view(maximaBuffer);
  sums = context.view(sumsBuffer);
  scales = context.view(scalesBuffer);
  if (shape.further.lse)
    shifts = context.view(shiftsBuffer);
}

void RowSoftmax::begin(Value row) {
  if (!shape.direct)
    b.store(b.constant(-kInfinity), maxima, b.mul(row, g.lanes));
  restart(row);
  if (shape.further.lse)
    setShift(row, b.constantScalar(0));
}

void RowSoftmax::restart(Value row) {
  setSum(row, b.constantScalar(0));
  if (g.manyKeyBlocks && !shape.direct)
    setMaximum(row, b.constantScalar(-kInfinity));
}

void RowSoftmax::meet(const ScoreTile &tile, ArrayRef<Value> places) {
  Value scores = memory.scores;
  if (shape.direct) {
    for (auto [score, place] : llvm::zip(tile.sums, places))
      b.store(score, scores, place);
    return;
  }
  Value rowMaxima = b.mul(tile.row, g.lanes);
  for (int64_t r = 0; r < g.tileRows; ++r) {
    Value at = b.add(rowMaxima, r * g.lanes);
    Value maximum = b.load(maxima, at);
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value sum = tile.sums[r * tile.vectors + v];
      maximum = larger(b, sum, maximum);
      b.store(sum, scores, places[r * tile.vectors + v]);
    }
    b.store(maximum, maxima, at);
  }
}

Value RowSoftmax::factorToWhole(Value sum) {
  // In the first pass, the largest weight of a row is exactly 1. A row without a visible key has the sum 0.
  Value isBelow = b.compare(arith::CmpFPredicate::OLT, sum, b.constantScalar(0.5));
  Value isAny = b.compare(arith::CmpFPredicate::OGT, sum, b.constantScalar(0));
  Value isSmaller = arith::AndIOp::create(b.builder, isBelow, isAny);
  return b.select(isSmaller, b.constantScalar(1 / kSmaller), b.constantScalar(1));
}

void RowSoftmax::noteShift(Value row, Value more) {
  if (shape.further.lse)
    setShift(row, b.addf(shift(row), more));
}

Value RowSoftmax::placeOf(Value firstRow, Value row) {
  return b.add(b.mul(positions.head(), positions.queries()), context.positionOf(firstRow, row));
}

void RowSoftmax::writeLogSum(Value row, Value firstRow, Value sum) {
  if (!shape.further.lse)
    return;
  Value shifted = b.addf(maximum(row), shift(row));
  Value logarithm = math::LogOp::create(b.builder, b.mulf(sum, factorToWhole(sum)));
  Value total = b.addf(shifted, logarithm);
  // The row has no visible key, or only scores of -inf.
  Value empty = b.compare(arith::CmpFPredicate::OEQ, sum, b.constantScalar(0));
  total = b.select(empty, b.constantScalar(-kInfinity), total);
  total = logSumExp(b.builder, shifted, total);
  b.storeScalar(total, memory.lse, placeOf(firstRow, row));
}

void RowSoftmax::writeTotal(Value row, Value firstRow, Value sum) {
  if (shape.further.total)
    b.storeScalar(sum, memory.total, placeOf(firstRow, row));
}

void RowSoftmax::weigh(const KeyBlock &block, Value row, VectorRuns runs) {
  if (!shape.direct)
    exponentials(block, row, runs);
  else if (shape.further.total)
    total(block, row, runs);
}

void RowSoftmax::total(const KeyBlock &block, Value row, VectorRuns runs) {
  Value total = b.constant(0);
  for (auto [lowVector, highVector] : runs) {
    Value base = b.add(b.mul(row, g.scoreStride), b.sub(b.mul(lowVector, g.lanes), block.lowKey));
    total = sumOfChains(b.mul(b.sub(highVector, lowVector), g.lanes), total,
                        [&](Value x) { return b.load(memory.scores, b.add(base, x)); });
  }
  setSum(row, b.addf(sum(row), reduceAdd(b, total)));
}

/// Returns start + Σ term(x) of a row in a block of keys. After a large weight, a long chain would lose all small ones:
/// 3.4e-6 of the largest output for 4096 keys in vectors of 4, with unscaled logits.
Value RowSoftmax::sumOfChains(Value count, Value start, llvm::function_ref<Value(Value x)> term) {
  return sumOfVectors(b, count, g.keyBlock, start, g.keyBlock <= kChain * g.lanes ? 0 : kChain, term);
}

Value RowSoftmax::maximumSoFar(Value row) { return reduceMax(b, b.load(maxima, b.mul(row, g.lanes))); }

/// A row without a visible key so far has maximum -inf; -inf - -inf would be NaN.
Value RowSoftmax::referenceOf(Value maximum) {
  Value none = b.compare(arith::CmpFPredicate::OEQ, maximum, b.constantScalar(-kInfinity));
  return b.broadcast(b.select(none, b.constantScalar(0), maximum));
}

void RowSoftmax::exponentials(const KeyBlock &block, Value row, VectorRuns runs) {
  Value scores = memory.scores;
  Value largest = maximumSoFar(row), reference = referenceOf(largest);
  Value total = b.constant(0);
  auto base = [&](Value lowVector) {
    return b.add(b.mul(row, g.scoreStride), b.sub(b.mul(lowVector, g.lanes), block.lowKey));
  };
  auto count = [&](Value lowVector, Value highVector) { return b.mul(b.sub(highVector, lowVector), g.lanes); };
  for (auto [lowVector, highVector] : runs) {
    Value from = base(lowVector);
    total = sumOfChains(count(lowVector, highVector), total, [&](Value x) {
      Value at = b.add(from, x);
      Value exponent = b.subf(b.load(scores, at), reference);
      Value weight = g.weightsAreRounded ? expOfRoundedWeight(b, exponent) : expOfWeight(b, exponent);
      b.store(weight, scores, at);
      return weight;
    });
  }
  Value own = reduceAdd(b, total);
  if (block.isSecond) {
    b.when(block.isSecond, [&] {
      for (auto [lowVector, highVector] : runs) {
        Value from = base(lowVector);
        b.loop(b.index(0), count(lowVector, highVector), g.lanes, [&](Value x) {
          Value at = b.add(from, x);
          b.store(b.mulf(b.load(scores, at), b.constant(kSmaller)), scores, at);
        });
      }
    });
    own = b.mulf(own, b.select(block.isSecond, b.constantScalar(kSmaller), b.constantScalar(1)));
  }
  if (!g.manyKeyBlocks) {
    if (shape.further.lse)
      setMaximum(row, largest);
    return setSum(row, own);
  }
  Value before = b.broadcast(maximum(row));
  Value rescale = vector::ExtractOp::create(b.builder, expOfWeight(b, b.subf(before, reference)), ArrayRef<int64_t>{0});
  setFactor(row, rescale);
  setMaximum(row, largest);
  setSum(row, b.addf(b.mulf(sum(row), rescale), own));
}
