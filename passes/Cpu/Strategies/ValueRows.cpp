// Rows of tables that are added to the values: sizes, packing, and sums that several strategies share (ValueRows.h).
#include "passes/Cpu/Strategies/ValueRows.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/VectorMath.h"
#include <numeric>

using namespace mlir;
using namespace skewer;

// The number of accumulators while a single query is computed.
static constexpr int64_t kRowVectors = 8;

ValueRows::ValueRows(CpuKernel &kernel, const ValueTerm &term) : WeightedTerm(kernel, term) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  unit = 0;
  for (const OffsetRun &run : term.runs) {
    for (int64_t element : {run.start, run.start + run.step * (run.length() - 1)}) {
      low = std::min(low, element);
      high = std::max(high, element);
      unit = std::gcd(unit, std::abs(element - term.runs.front().start));
    }
    unit = std::gcd(unit, std::abs(run.step));
  }
  unit = std::max<int64_t>(unit, 1);
  first = low;
  rows = (high - low) / unit + 1;
}

void ValueRows::planRows(Layout &layout, int64_t weightFloats) {
  rowFloats = unit;
  if (term.widthStride != 1 || shape.width % lanes != 0 || term.scale != 1) {
    rowFloats = widthVectors * lanes;
    layout.reserve(table, rows * rowFloats, Layout::Zone::ValueTerms);
  }
  if (weightFloats)
    layout.reserve(weights, weightFloats, Layout::Zone::ValueTerms);
}

void ValueRows::open() {
  tableMemory = isPacked() ? view(memory.local, table) : memory.arguments[term.argument];
  if (weights.floats)
    weightsMemory = view(memory.local, weights);
}

void ValueRows::packValues() {
  if (!isPacked())
    return;
  Value base = b.add(positions.baseOf(term.base), first);
  b.loop(b.index(0), b.index(rows), 1, [&](Value row) {
    kernel.packer.copyWidth(memory.arguments[term.argument], b.add(base, b.mul(row, unit)), term.widthStride,
                            term.scale, tableMemory, b.mul(row, rowFloats), false);
  });
}

void ValueRows::enterHead() { tableBase = isPacked() ? b.index(0) : b.add(positions.baseOf(term.base), first); }

Value ValueRows::rowOf(const OffsetRun &run, Value offset) {
  int64_t step = run.step / unit * rowFloats;
  Value begin = b.add(tableBase, (run.start - first) / unit * rowFloats);
  return step ? b.add(begin, b.mul(b.sub(offset, b.index(run.low)), step)) : begin;
}

Value WeightedTerm::sumOfWeights(Value low, Value high) {
  constexpr int64_t kParts = 4;
  Value count = b.maximum(b.sub(high, low), b.index(0));
  Value whole = b.mul(b.divide(count, kParts * b.lanes), kParts * b.lanes);
  SmallVector<Value> parts(kParts, b.constant(kernel.hidden.noWeight()));
  parts = b.loop(b.index(0), whole, kParts * b.lanes, parts, [&](Value x, ValueRange sums) {
    SmallVector<Value> next;
    for (int64_t k = 0; k < kParts; ++k)
      next.push_back(b.addf(sums[k], b.load(memory.scores, b.add(b.add(low, x), k * b.lanes))));
    return next;
  });
  Value rest = b.loop(whole, count, b.lanes, ValueRange{parts[0]}, [&](Value x, ValueRange sum) {
    return SmallVector<Value>{b.addf(sum[0], firstWeights(b.add(low, x), b.sub(count, x)))};
  })[0];
  Value sums = b.addf(b.addf(rest, parts[1]), b.addf(parts[2], parts[3])), sum = reduceAdd(b, sums);
  if (!shape.direct)
    return sum;
  // The reduction begins with 0, which is the weight of a seen key.
  Type integers = VectorType::get({b.lanes}, b.builder.getI32Type());
  Value bits = arith::BitcastOp::create(b.builder, integers, sums),
        none = arith::BitcastOp::create(b.builder, integers, b.constant(kernel.hidden.noWeight()));
  Value seen = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, bits, none);
  Value any = vector::ReductionOp::create(b.builder, vector::CombiningKind::OR, seen);
  return b.select(any, sum, b.constantScalar(kernel.hidden.noWeight()));
}

Value WeightedTerm::firstWeights(Value at, Value count) {
  Value inside = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, laneNumbers(b), broadcastIndex(b, count));
  return b.select(inside, b.load(memory.scores, at), b.constant(kernel.hidden.noWeight()));
}

void WeightedTerm::addToRow(Value row,
                            const std::function<SmallVector<Value>(int64_t first, int64_t vectors, ValueRange)> &body) {
  for (int64_t first = 0; first < widthVectors; first += kRowVectors) {
    int64_t vectors = std::min(kRowVectors, widthVectors - first);
    Value out = b.add(b.mul(row, widthVectors * b.lanes), first * b.lanes);
    SmallVector<Value> sums(vectors, b.constant(0));
    sums = body(first, vectors, sums);
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = b.add(out, v * b.lanes);
      b.store(b.addf(b.load(memory.accumulators, at), sums[v]), memory.accumulators, at);
    }
  }
}

void WeightedTerm::forRows(const WeightedRows &rows, const std::function<void(Value row, Value position)> &body) {
  Value first = b.mul(rows.group, tileRows);
  Value count = b.minimum(b.index(tileRows), b.sub(positions.queries(), b.add(rows.firstRow, first)));
  b.loop(first, b.add(first, count), 1, [&](Value row) { body(row, b.add(rows.firstRow, row)); });
}
