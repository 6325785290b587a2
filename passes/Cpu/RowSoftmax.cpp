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
static constexpr float kSmaller = 0x1p-40f, kOctavesBelow = 40;
/// Loose references are those of the first keys that a row sees. A finite number that hides keys, as -1e9 does, is
/// below this one and serves as little as a reference as -inf.
static constexpr float kLowestReference = -0x1p20f;

/// Returns the exponent of a difference of scores.
static Value exponentOf(VectorBuilder &b, const Geometry &g, Value difference) {
  double scale = g.weighing.scoreScale;
  return scale == 1 ? difference : b.mulf(difference, b.constant(float(scale)));
}

/// Returns the floats of the vectors [lowVector, highVector).
static Value floatsOf(VectorBuilder &b, Value lowVector, Value highVector) {
  return b.mul(b.sub(highVector, lowVector), b.lanes);
}

void RowSoftmax::plan(Layout &layout) {
  layout.reserve(maximaBuffer, g.rowBlock * g.lanes, Layout::Zone::Block);
  layout.reserve(sumsBuffer, g.rowBlock, Layout::Zone::Block);
  layout.reserve(scalesBuffer, 2 * g.rowBlock, Layout::Zone::Block);
  layout.reserve(shiftsBuffer, shape.further.lse ? g.rowBlock : 0, Layout::Zone::Block);
  layout.reserve(referencesBuffer, shape.direct ? 0 : 2 * g.tileRows, Layout::Zone::Block);
  layout.reserve(totalsBuffer, shape.direct ? 0 : g.tileRows * g.lanes, Layout::Zone::Block);
  layout.reserve(powersBuffer, g.weighing.arePowers ? g.rowBlock * g.lanes : 0, Layout::Zone::Block);
}

void RowSoftmax::open() {
  maxima = context.view(maximaBuffer);
  sums = context.view(sumsBuffer);
  scales = context.view(scalesBuffer);
  if (shape.further.lse)
    shifts = context.view(shiftsBuffer);
  if (shape.direct)
    return;
  references = context.view(referencesBuffer);
  powers = context.view(powersBuffer);
  totals = context.view(totalsBuffer);
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
  if (g.weighing.arePowers)
    b.store(b.constant(0), powers, b.mul(row, g.lanes));
  if (g.manyKeyBlocks && !shape.direct)
    setMaximum(row, b.constantScalar(-kInfinity));
}

/// Returns whether a vector is what memory holds at this place already.
static bool isLoadedFrom(Value vector, Value memory, Value place) {
  auto load = vector.getDefiningOp<vector::LoadOp>();
  return load && load.getBase() == memory && load.getIndices().front() == place;
}

void RowSoftmax::meet(const ScoreTile &tile, ArrayRef<Value> places) {
  Value scores = memory.scores;
  if (shape.direct || g.weighing.maximaByRows) {
    for (auto [score, place] : llvm::zip(tile.sums, places))
      if (!isLoadedFrom(score, scores, place))
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

void RowSoftmax::forRows(Value firstRow, llvm::function_ref<void(Value row, Value r)> body) {
  b.loop(b.index(0), b.index(g.tileRows), 1, [&](Value r) { body(b.add(firstRow, r), r); });
}

void RowSoftmax::weigh(const KeyBlock &block, Value firstRow, VectorRuns runs) {
  if (!shape.direct)
    exponentials(block, firstRow, runs);
  else if (shape.further.total)
    forRows(firstRow, [&](Value row, Value) { total(block, row, runs); });
}

void RowSoftmax::total(const KeyBlock &block, Value row, VectorRuns runs) {
  Value total = b.constant(0);
  for (auto [lowVector, highVector] : runs) {
    Value base = b.add(b.mul(row, g.scoreStride), b.sub(b.mul(lowVector, g.lanes), block.lowKey));
    total = sumOfChains(floatsOf(b, lowVector, highVector), total,
                        [&](Value x) { return b.load(memory.scores, b.add(base, x)); });
  }
  setSum(row, b.addf(sum(row), reduceAdd(b, total)));
}

/// Returns start + Σ term(x) of a row in a block of keys. After a large weight, a long chain would lose all small ones:
/// 3.4e-6 of the largest output for 4096 keys in vectors of 4, with unscaled logits.
Value RowSoftmax::sumOfChains(Value count, Value start, llvm::function_ref<Value(Value x)> term) {
  return sumOfVectors(b, count, g.keyBlock, start, g.keyBlock <= kChain * g.lanes ? 0 : kChain, term);
}

/// Raises the maxima of the rows of a tile to those of their scores in a block of keys. Some rows go through the keys
/// together: the maxima of one row would wait for each other.
void RowSoftmax::raiseMaxima(Value firstRow, VectorRuns runs, ScoresOfRow scores) {
  int64_t together = g.tileRows % 4 == 0 ? 4 : 1;
  b.loop(b.index(0), b.index(g.tileRows), together, [&](Value r) {
    SmallVector<Value> rows, largest;
    for (int64_t i = 0; i < together; ++i) {
      rows.push_back(b.add(b.add(firstRow, r), i));
      largest.push_back(b.load(maxima, b.mul(rows.back(), g.lanes)));
    }
    for (auto [lowVector, highVector] : runs)
      largest = b.loop(lowVector, highVector, 1, largest, [&](Value vector, ValueRange so) {
        SmallVector<Value> raised;
        for (int64_t i = 0; i < together; ++i)
          raised.push_back(larger(b, scores(rows[i], vector, 1).front(), so[i]));
        return raised;
      });
    for (int64_t i = 0; i < together; ++i)
      b.store(largest[i], maxima, b.mul(rows[i], g.lanes));
  });
}

Value RowSoftmax::maximumSoFar(Value row) { return reduceMax(b, b.load(maxima, b.mul(row, g.lanes))); }

/// A row without a visible key so far has maximum -inf; -inf - -inf would be NaN.
Value RowSoftmax::scalarReferenceOf(Value maximum) {
  Value none = b.compare(arith::CmpFPredicate::OEQ, maximum, b.constantScalar(-kInfinity));
  return b.select(none, b.constantScalar(0), maximum);
}

Value RowSoftmax::baseOf(const KeyBlock &block, Value row, Value lowVector) {
  return b.add(b.mul(row, g.scoreStride), b.sub(b.mul(lowVector, g.lanes), block.lowKey));
}

/// The rows of a tile take each step together. To reduce a vector to its maximum or its sum takes some 25 cycles, one
/// instruction after another; those of several rows overlap. A row that did all steps would wait twice: swin-7, with
/// rows of four vectors, took 67 cycles a row.
void RowSoftmax::exponentials(const KeyBlock &block, Value firstRow, VectorRuns runs) {
  Value scores = memory.scores;
  auto maximumPlace = [&](Value r) { return b.add(r, g.tileRows); };
  if (g.weighing.maximaByRows)
    raiseMaxima(firstRow, runs, [&](Value row, Value vector, int64_t) {
      return SmallVector<Value>{b.load(memory.scores, baseOf(block, row, vector))};
    });
  forRows(firstRow, [&](Value row, Value r) {
    Value largest = maximumSoFar(row);
    b.storeScalar(largest, references, maximumPlace(r));
    b.storeScalar(scalarReferenceOf(largest), references, r);
  });
  forRows(firstRow, [&](Value row, Value r) {
    Value reference = b.broadcast(b.scalar(references, r)), total = b.constant(0);
    for (auto [lowVector, highVector] : runs) {
      Value from = baseOf(block, row, lowVector);
      total = sumOfChains(floatsOf(b, lowVector, highVector), total, [&](Value x) {
        Value at = b.add(from, x);
        Value exponent = exponentOf(b, g, b.subf(b.load(scores, at), reference));
        Value weight = g.weighing.areRounded ? expOfRoundedWeight(b, exponent) : expOfWeight(b, exponent);
        b.store(weight, scores, at);
        return weight;
      });
    }
    b.store(total, totals, b.mul(r, g.lanes));
  });
  if (block.isSecond)
    b.when(block.isSecond, [&] { makeSmaller(block, firstRow, runs); });
  forRows(firstRow, [&](Value row, Value r) {
    addSum(block, row, b.scalar(references, maximumPlace(r)), reduceAdd(b, b.load(totals, b.mul(r, g.lanes))));
  });
}

/// Makes the weights of a second pass smaller (RowBlock::isSecond).
void RowSoftmax::makeSmaller(const KeyBlock &block, Value firstRow, VectorRuns runs) {
  forRows(firstRow, [&](Value row, Value) {
    for (auto [lowVector, highVector] : runs) {
      Value from = baseOf(block, row, lowVector);
      b.loop(b.index(0), floatsOf(b, lowVector, highVector), g.lanes, [&](Value x) {
        Value at = b.add(from, x);
        b.store(b.mulf(b.load(memory.scores, at), b.constant(kSmaller)), memory.scores, at);
      });
    }
  });
}

/// Returns the factor of sums that refer to the maximum `before` when they refer to `largest`.
Value RowSoftmax::factorBetween(Value before, Value largest) {
  Value difference = b.subf(b.broadcast(before), b.broadcast(scalarReferenceOf(largest)));
  return vector::ExtractOp::create(b.builder, expOfWeight(b, exponentOf(b, g, difference)), ArrayRef<int64_t>{0});
}

/// Adds the sum `own` of the weights of a row in a block of keys to the row's sum. `largest` is the row's maximum.
void RowSoftmax::addSum(const KeyBlock &block, Value row, Value largest, Value own) {
  if (block.isSecond)
    own = b.mulf(own, b.select(block.isSecond, b.constantScalar(kSmaller), b.constantScalar(1)));
  if (!g.manyKeyBlocks) {
    if (shape.further.lse)
      setMaximum(row, largest);
    return setSum(row, own);
  }
  Value rescale = factorBetween(maximum(row), largest);
  setFactor(row, rescale);
  setMaximum(row, largest);
  setSum(row, b.addf(b.mulf(sum(row), rescale), own));
}

Value RowSoftmax::octavesBelow(const RowBlock &block) {
  if (!block.isSecond)
    return b.constantScalar(0);
  return b.select(block.isSecond, b.constantScalar(kOctavesBelow), b.constantScalar(0));
}

/// i1: the comparison holds for some of the numbers that rows [firstRow, firstRow + count) have in a buffer.
static Value someRow(VectorBuilder &b, Value buffer, Value firstRow, int64_t count, arith::CmpFPredicate predicate,
                     float number) {
  Value some;
  for (int64_t r = 0; r < count; r += b.lanes) {
    int64_t rows = std::min(b.lanes, count - r);
    Value is = b.compare(predicate, b.loadFirst(buffer, b.add(firstRow, r), rows), b.constant(number));
    if (rows < b.lanes)
      is = arith::AndIOp::create(b.builder, is, b.firstLanes(rows));
    some = some ? arith::OrIOp::create(b.builder, some, is).getResult() : is;
  }
  return vector::ReductionOp::create(b.builder, vector::CombiningKind::OR, some);
}

/// i1: some row of a tile has no reference yet, or the references are the maxima of all keys in this pass.
Value RowSoftmax::needReferences(const KeyBlock &block, Value firstRow) {
  Value some = someRow(b, scales, b.add(firstRow, g.rowBlock), g.tileRows, arith::CmpFPredicate::OLT, kLowestReference);
  return block.isSecond ? arith::OrIOp::create(b.builder, some, block.isSecond).getResult() : some;
}

/// Shrinks the sums of the rows of a tile from the maxima that they refer to, to those of all keys so far. Before the
/// first block of keys that a row sees, there is nothing to shrink.
void RowSoftmax::shrinkSums(Value firstRow, function_ref<void()> shrinkOthers) {
  Value some = someRow(b, scales, b.add(firstRow, g.rowBlock), g.tileRows, arith::CmpFPredicate::UNE, -kInfinity);
  b.when(some, [&] {
    forRows(firstRow, [&](Value row, Value) {
      Value factor = factorBetween(maximum(row), maximumSoFar(row)), at = b.mul(row, g.lanes);
      setFactor(row, factor);
      b.store(b.mulf(b.load(powers, at), b.broadcast(factor)), powers, at);
    });
    shrinkOthers();
  });
}

void RowSoftmax::raise(const KeyBlock &block, Value firstRow, VectorRuns runs, ScoresOfRow scores,
                       function_ref<void()> shrinkOthers) {
  auto raiseAll = [&] {
    if (g.weighing.maximaByRows)
      raiseMaxima(firstRow, runs, scores);
    if (g.manyKeyBlocks)
      shrinkSums(firstRow, shrinkOthers);
    forRows(firstRow, [&](Value row, Value) { setMaximum(row, maximumSoFar(row)); });
  };
  if (g.weighing.looseReferences)
    b.when(needReferences(block, firstRow), raiseAll);
  else
    raiseAll();
}

void RowSoftmax::addWeights(Value firstRow, WeighRow weighRow) {
  forRows(firstRow, [&](Value row, Value r) {
    Value at = b.mul(row, g.lanes), reference = scalarReferenceOf(maximum(row));
    b.store(weighRow(r, reference, b.load(powers, at)), powers, at);
  });
}

void RowSoftmax::addTotals(const RowBlock &block) {
  if (g.weighing.arePowers)
    b.loop(b.index(0), block.rows, 1,
           [&](Value row) { setSum(row, b.addf(sum(row), reduceAdd(b, b.load(powers, b.mul(row, g.lanes))))); });
}

Value RowSoftmax::someSumsAreNoNumbers(Value rows) {
  Value test = b.loop(b.index(0), rows, 1, ValueRange{b.constantScalar(0)}, [&](Value row, ValueRange so) {
    return SmallVector<Value>{b.addf(so[0], b.mulf(sum(row), b.constantScalar(0)))};
  })[0];
  return b.compare(arith::CmpFPredicate::UNO, test, b.constantScalar(0));
}
