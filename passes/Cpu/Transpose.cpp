// Transposes squares of vectors with three kinds of shuffles: of numbers and of pairs of numbers within quarters of 128
// bits (`vunpcklps` and similar), then of whole quarters. For 16 x 16 numbers it takes 64 shuffles; MLIR's own lowering
// takes 203, with masks in registers. Attentions of some hundred tokens take 0.985 to 0.99 of their time with it
// (Zen 4). Prefetching the rows of the next panel as well gains nothing.
#include "passes/Cpu/Transpose.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace skewer;

static constexpr int64_t kQuarter = 4; // lanes of 128 bits

/// Returns, in each quarter, the low or the high half of x interleaved with that of y, `unit` numbers at a time.
static Value interleave(VectorBuilder &b, Value x, Value y, int64_t unit, bool high) {
  SmallVector<int64_t> order;
  for (int64_t quarter = 0; quarter < b.lanes; quarter += kQuarter)
    for (int64_t at = 0; at < kQuarter / 2; at += unit)
      for (int64_t operand : {int64_t(0), b.lanes})
        for (int64_t n = 0; n < unit; ++n)
          order.push_back(operand + quarter + (high ? kQuarter / 2 : 0) + at + n);
  return vector::ShuffleOp::create(b.builder, x, y, order);
}

/// Returns the even or the odd quarters of x, then those of y.
static Value quartersOf(VectorBuilder &b, Value x, Value y, bool odd) {
  SmallVector<int64_t> order;
  for (int64_t operand : {int64_t(0), b.lanes})
    for (int64_t quarter = odd ? kQuarter : 0; quarter < b.lanes; quarter += 2 * kQuarter)
      for (int64_t n = 0; n < kQuarter; ++n)
        order.push_back(operand + quarter + n);
  return vector::ShuffleOp::create(b.builder, x, y, order);
}

SmallVector<Value> skewer::transposed(VectorBuilder &b, ArrayRef<Value> rows) {
  const int64_t lanes = b.lanes;
  SmallVector<Value> result(rows);
  if (lanes == 2) {
    result[0] = vector::ShuffleOp::create(b.builder, rows[0], rows[1], ArrayRef<int64_t>{0, 2});
    result[1] = vector::ShuffleOp::create(b.builder, rows[0], rows[1], ArrayRef<int64_t>{1, 3});
    return result;
  }
  // result[four + c] holds the columns c, 4 + c, 8 + c, … of the four rows from `four` on, a quarter for each column.
  for (int64_t four = 0; four < lanes; four += kQuarter) {
    Value low[2], high[2];
    for (int64_t pair = 0; pair < 2; ++pair) {
      low[pair] = interleave(b, rows[four + 2 * pair], rows[four + 2 * pair + 1], 1, false);
      high[pair] = interleave(b, rows[four + 2 * pair], rows[four + 2 * pair + 1], 1, true);
    }
    for (int64_t column = 0; column < kQuarter; ++column) {
      auto &half = column < 2 ? low : high;
      result[four + column] = interleave(b, half[0], half[1], 2, column % 2);
    }
  }
  // Each pass brings the quarters of a column one step nearer to each other.
  for (int64_t apart = lanes / 2; apart >= kQuarter; apart /= 2) {
    SmallVector<Value> next(lanes);
    for (int64_t column = 0; column < kQuarter; ++column)
      for (int64_t n = 0; n < lanes / 2; n += kQuarter) {
        Value x = result[column + 2 * n], y = result[column + 2 * n + kQuarter];
        next[column + n] = quartersOf(b, x, y, false);
        next[column + n + lanes / 2] = quartersOf(b, x, y, true);
      }
    result = next;
  }
  return result;
}
