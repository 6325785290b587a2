// Emits the last step of a block of rows (ResultRows.h).
#include "passes/Cpu/ResultRows.h"

using namespace mlir;
using namespace skewer;

/// Returns 1 / sum. A row that sees no key gives 0. A NaN is not equal to 0, so it stays.
Value ResultRows::inverseOf(Value sum) {
  Value empty = b.compare(arith::CmpFPredicate::OEQ, sum, b.constantScalar(0));
  Value inverse = b.divf(b.constantScalar(1), sum);
  return b.broadcast(b.select(empty, b.constantScalar(0), inverse));
}

void ResultRows::write(Value firstRow, Value rows) {
  Value base = shape.result.picked || context.stage.finishRow ? Value() : positions.baseOf(shape.result.base);
  b.loop(b.index(0), rows, 1, [&](Value row) {
    Value sum = softmax.sum(row), factor;
    if (shape.direct) {
      softmax.writeTotal(row, firstRow, sum);
    } else {
      softmax.writeLogSum(row, firstRow, sum);
      factor = inverseOf(sum);
    }
    Value from = b.mul(row, g.widthVectors * g.lanes);
    Value position = context.positionOf(firstRow, row);
    if (factor && weights.areResult())
      weights.finish(row, position, inverseOf(b.mulf(sum, softmax.factorToWhole(sum))));
    if (context.stage.finishRow)
      return finish(position, from, factor);
    Value to = shape.result.picked ? positions.indexOf(*shape.result.picked, positions.axesAt(position, {}))
                                   : b.add(base, b.mul(position, shape.result.query));
    SmallVector<Value> sums;
    for (int64_t v = 0; v < g.widthVectors; ++v) {
      Value x = b.load(memory.accumulators, b.add(from, v * g.lanes));
      sums.push_back(factor ? b.mulf(x, factor) : x);
    }
    stream.store(sums, to);
  });
}

/// Multiplies a row in its accumulators by `factor`, as if to store it, and passes it to the arithmetic that finishes
/// it.
void ResultRows::finish(Value position, Value from, Value factor) {
  for (int64_t v = 0; factor && v < g.widthVectors; ++v) {
    Value at = b.add(from, v * g.lanes);
    b.store(b.mulf(b.load(memory.accumulators, at), factor), memory.accumulators, at);
  }
  context.stage.finishRow(position, memory.accumulators, from);
}
