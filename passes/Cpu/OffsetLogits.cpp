// The band: q_i · R for the columns of a packed table that a row group can reach. Column u belongs to key - query =
// u - constant, so that the skew is only where the next load starts.
#include "passes/Cpu/CpuKernel.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

/// First and last value of an axis over a row group: where the axis wraps inside the group, its whole extent.
static std::pair<Value, Value> axisRange(CpuKernel &kernel, const MapAxis &axis, Value first, Value last) {
  VectorBuilder &b = kernel.b;
  if (axis.isWhole(kernel.shape.queries))
    return {first, last};
  Value low = kernel.axisOf(axis, first), high = kernel.axisOf(axis, last);
  if (axis.inner * axis.extent >= kernel.shape.queries)
    return {low, high};
  int64_t period = axis.inner * axis.extent;
  Value same =
      arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, b.divide(first, period), b.divide(last, period));
  return {b.select(same, low, b.index(0)), b.select(same, high, b.index(axis.extent - 1))};
}

/// The last row of a group that exists.
static Value lastRow(CpuKernel &kernel, Value group, Value firstRow) {
  VectorBuilder &b = kernel.b;
  Value last = b.add(b.add(firstRow, b.mul(group, kernel.tileRows)), kernel.tileRows - 1);
  return b.minimum(last, b.index(kernel.shape.queries - 1));
}

Value CpuKernel::logitsStart(unsigned number, Value group, Value firstRow, Value lowKey) {
  const OffsetTerm &term = shape.offsets[number];
  Value first = b.add(firstRow, b.mul(group, tileRows));
  auto [low, high] = axisRange(*this, term.queryAxis, first, lastRow(*this, group, firstRow));
  Value keys = term.keyAxis.isWhole(shape.keys) ? lowKey : b.index(0);
  Value column = b.sub(b.add(keys, firstColumn(number)), high);
  return b.maximum(b.floorDiv(column, lanes), b.index(0));
}

void CpuKernel::offsetLogits(unsigned number, Value group, Value firstRow, Value lowKey, Value highKey) {
  const OffsetTerm &term = shape.offsets[number];
  const PackedTable &table = tables[number];
  Value start = logitsStart(number, group, firstRow, lowKey);
  Value first = b.add(firstRow, b.mul(group, tileRows));
  auto [low, high] = axisRange(*this, term.queryAxis, first, lastRow(*this, group, firstRow));
  Value lastKey = term.keyAxis.isWhole(shape.keys) ? b.add(highKey, -1) : b.index(term.keyAxis.extent - 1);
  Value lastColumn = b.sub(b.add(lastKey, firstColumn(number)), low);
  Value end = b.add(b.floorDiv(lastColumn, lanes), 1);
  end = b.minimum(end, b.index(table.panels - tileVectors));

  int64_t stride = (term.depth + 1) * lanes;
  Value copy = b.mul(copyOf(term.tableAxes), table.panels * stride);
  int64_t rowStride = table.ownQueries ? term.depth : depth;
  Value rowsBase = b.mul(group, tileRows * rowStride);
  Value target = b.add(b.mul(group, tileRows * table.logitsStride), table.margin);
  bool large = !readsWhole(term) || table.ownQueries || std::abs(table.factor) >= kLargeFactor;
  bool huge = readsWhole(term) && isHuge(term.scale, term.depth);
  Summation summation = huge ? kCompensated : Summation{large ? kChunk : std::max<int64_t>(term.depth, 1)};
  auto tile = [&](Value panel, int64_t vectors) {
    Value column = b.add(target, b.mul(b.sub(panel, start), lanes));
    Value panelBase = b.add(copy, b.mul(panel, stride));
    multiplyInto(b, tileRows, vectors, term.depth, summation, {ownQueriesBuffers[number], rowsBase, rowStride},
                 {tableBuffers[number], panelBase, stride}, {logitsBuffers[number], column, table.logitsStride});
  };
  // Whole tiles first, then single vectors: one more tile would do up to three vectors too many.
  Value count = b.maximum(b.sub(end, start), b.index(0));
  Value whole = b.add(start, b.mul(b.divide(count, tileVectors), tileVectors));
  b.loop(start, whole, tileVectors, [&](Value panel) { tile(panel, tileVectors); });
  b.loop(whole, end, 1, [&](Value panel) { tile(panel, 1); });
}
