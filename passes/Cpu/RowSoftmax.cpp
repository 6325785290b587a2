// Computes the exponentials of one row of scores in a block of keys, and their sum. The running maximum rescales the
// sums of earlier blocks. CpuKernel calls it for each row of a block, after the score tiles. Source: Milakov and
// Gimelshein 2018 (arXiv:1805.02867), algorithm 3.
//
// The maximum is subtracted before anything is multiplied by log2(e), so that large scores lose nothing: scores that
// f32 holds exactly stay exact, and any finite number may be among them.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Cpu/Strategy.h"
#include "passes/Cpu/WeightedSums.h"
#include "passes/Emit/LogSum.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// The factor of the smaller weights of a second pass. It is a power of two, so that they lose no digit. For up to 2^39
/// keys, the sum of such weights is below 1/2, and the sum of weights × values is finite.
constexpr float kSmaller = 0x1p-40f;

Value CpuKernel::factorToWhole(Value sum) {
  // In the first pass, the largest weight of a row is exactly 1. A row without a visible key has the sum 0.
  Value isBelow = b.compare(arith::CmpFPredicate::OLT, sum, b.constantScalar(0.5));
  Value isAny = b.compare(arith::CmpFPredicate::OGT, sum, b.constantScalar(0));
  Value isSmaller = arith::AndIOp::create(b.builder, isBelow, isAny);
  return b.select(isSmaller, b.constantScalar(1 / kSmaller), b.constantScalar(1));
}

void CpuKernel::noteShift(Value row, Value shift) {
  if (shape.further.lse)
    b.storeScalar(b.addf(b.scalar(memory.shifts, row), shift), memory.shifts, row);
}

/// Stores the logarithm of the sum of a row's exponentials, if it is a result.
void CpuKernel::writeLogSum(Value row, Value firstRow, Value sum) {
  if (!shape.further.lse)
    return;
  Value reference = b.addf(b.scalar(memory.scales, b.add(row, rowBlock)), b.scalar(memory.shifts, row));
  Value logarithm = math::LogOp::create(b.builder, b.mulf(sum, factorToWhole(sum)));
  Value total = b.addf(reference, logarithm);
  // The row has no visible key, or only scores of -inf.
  Value empty = b.compare(arith::CmpFPredicate::OEQ, sum, b.constantScalar(0));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  total = b.select(empty, b.constantScalar(-kInfinity), total);
  total = logSumExp(b.builder, reference, total);
  b.storeScalar(total, memory.lse, b.add(b.mul(leadingIndex, queries()), positionOf(firstRow, row)));
}

void CpuKernel::writeTotal(Value row, Value firstRow, Value sum) {
  if (shape.further.total)
    b.storeScalar(sum, memory.total, b.add(b.mul(leadingIndex, queries()), positionOf(firstRow, row)));
}

/// Adds the weights of a row in a block of keys to their sum, if it is a result.
void CpuKernel::rowTotal(Value row, Value lowKey, ArrayRef<std::pair<Value, Value>> runsOfVectors) {
  if (!shape.further.total)
    return;
  Value total = b.constant(0);
  for (auto [lowVector, highVector] : runsOfVectors) {
    Value base = b.add(b.mul(row, scoreStride), b.sub(b.mul(lowVector, lanes), lowKey));
    total = sumOfChains(b.mul(b.sub(highVector, lowVector), lanes), total,
                        [&](Value x) { return b.load(memory.scores, b.add(base, x)); });
  }
  b.storeScalar(b.addf(b.scalar(memory.sums, row), b.reduceAdd(total)), memory.sums, row);
}

/// Returns start + Σ term(x) of a row in a block of keys. After a large weight, a long chain would lose all small ones:
/// 3.4e-6 of the largest output for 4096 keys in vectors of 4, with unscaled logits.
Value CpuKernel::sumOfChains(Value count, Value start, llvm::function_ref<Value(Value x)> term) {
  return sumOfVectors(b, count, keyBlock, start, keyBlock <= kChain * lanes ? 0 : kChain, term);
}

void CpuKernel::rowSoftmax(const KeyBlock &block, Value row, ArrayRef<std::pair<Value, Value>> runsOfVectors) {
  Value maximum = b.reduceMax(b.load(memory.maxima, b.mul(row, lanes)));
  // A row without a visible key so far has maximum -inf; -inf - -inf would be NaN.
  Value none = b.compare(arith::CmpFPredicate::OEQ, maximum, b.constantScalar(-std::numeric_limits<float>::infinity()));
  Value reference = b.broadcast(b.select(none, b.constantScalar(0), maximum));
  Value total = b.constant(0);
  auto base = [&](Value lowVector) {
    return b.add(b.mul(row, scoreStride), b.sub(b.mul(lowVector, lanes), block.lowKey));
  };
  auto count = [&](Value lowVector, Value highVector) { return b.mul(b.sub(highVector, lowVector), lanes); };
  for (auto [lowVector, highVector] : runsOfVectors) {
    Value from = base(lowVector);
    total = sumOfChains(count(lowVector, highVector), total, [&](Value x) {
      Value at = b.add(from, x);
      Value weight = b.exp(b.subf(b.load(memory.scores, at), reference));
      b.store(weight, memory.scores, at);
      return weight;
    });
  }
  Value sum = b.reduceAdd(total);
  if (block.isSecond) {
    b.when(block.isSecond, [&] {
      for (auto [lowVector, highVector] : runsOfVectors) {
        Value from = base(lowVector);
        b.loop(b.index(0), count(lowVector, highVector), lanes, [&](Value x) {
          Value at = b.add(from, x);
          b.store(b.mulf(b.load(memory.scores, at), b.constant(kSmaller)), memory.scores, at);
        });
      }
    });
    sum = b.mulf(sum, b.select(block.isSecond, b.constantScalar(kSmaller), b.constantScalar(1)));
  }
  // memory.scales: the first half is the factor for earlier blocks, the second half the maximum that sums refer to.
  Value before = b.add(row, rowBlock);
  if (!manyKeyBlocks) {
    if (shape.further.lse)
      b.storeScalar(maximum, memory.scales, before);
    return b.storeScalar(sum, memory.sums, row);
  }
  Value scale = vector::ExtractOp::create(b.builder, b.exp(b.subf(b.loadBroadcast(memory.scales, before), reference)),
                                          ArrayRef<int64_t>{0});
  b.storeScalar(scale, memory.scales, row);
  b.storeScalar(maximum, memory.scales, before);
  b.storeScalar(b.addf(b.mulf(b.scalar(memory.sums, row), scale), sum), memory.sums, row);
}
