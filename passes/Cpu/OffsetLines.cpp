// A row of the table for each key - query, query side: logits of the rows that a group of queries can reach, then for
// each query a line over offsets. Each vector of the line is one permutation of a vector of logits where its rows stand
// near each other, else a gather. A tile reads the line skewed, as it reads the band; before the first offset and
// behind the last one, where the row stays what it is, it reads the line's ends again.
#include "passes/Cpu/CpuKernel.h"

using namespace mlir;
using namespace skewer;

namespace {
/// What is known at compile time about each vector of the line.
struct LineTables {
  std::vector<int32_t> rows; // of each lane; -1: nothing. From `lowest` of the vector on if `permutes`
  std::vector<int32_t> lowest, highest;
  bool permutes = true, monotone = true;
};

LineTables tablesOf(const RowTerm &term, const RowPlan &plan, const VectorBuilder &b) {
  LineTables tables;
  int64_t before = term.firstRow; // of vectors without a row: whatever keeps the order
  for (int64_t row : llvm::reverse(term.offsets.rows))
    before = row < 0 ? before : row;
  bool up = true, down = true;
  for (int64_t vector = 0; vector < plan.lineVectors; ++vector) {
    int64_t low = INT32_MAX, high = -1;
    for (int64_t lane = 0; lane < b.lanes; ++lane) {
      int64_t row = term.offsets.at(plan.origin + vector * b.lanes + lane);
      tables.rows.push_back(row);
      low = row < 0 ? low : std::min(low, row);
      high = std::max(high, row);
    }
    if (high < 0)
      low = high = before;
    if (vector > 0) {
      up &= tables.lowest.back() <= low && tables.highest.back() <= high;
      down &= tables.lowest.back() >= low && tables.highest.back() >= high;
    }
    before = low;
    tables.lowest.push_back(low);
    tables.highest.push_back(high);
    tables.permutes &= b.canPermute() && high - low < b.lanes;
  }
  tables.monotone = up || down;
  if (tables.permutes)
    for (auto [place, row] : llvm::enumerate(tables.rows))
      row = row < 0 ? -1 : row - tables.lowest[place / b.lanes];
  return tables;
}

/// The offset at which a tile's line is read.
Value clampOffset(CpuKernel &kernel, unsigned number, Value offset) {
  VectorBuilder &b = kernel.b;
  offset = b.maximum(offset, b.index(kernel.rowPlans[number].origin));
  return b.minimum(offset, b.index(kernel.shape.rows[number].offsets.high()));
}
} // namespace

/// The first vector of the line that a group's tiles read in a block of keys.
Value CpuKernel::lineStart(unsigned number, Value group, Value firstRow, Value lowKey) {
  const RowPlan &plan = rowPlans[number];
  Value last = b.add(b.add(firstRow, b.mul(group, tileRows)), tileRows - 1);
  Value key = plan.onceABlock ? b.index(0) : lowKey;
  Value offset = clampOffset(*this, number, b.sub(key, last));
  return b.divide(b.add(offset, -plan.origin), lanes);
}

void CpuKernel::offsetLine(unsigned number, Value group, Value firstRow, Value lowKey, Value highKey) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  LineTables tables = tablesOf(term, plan, b);
  Value first = b.add(firstRow, b.mul(group, tileRows));
  Value start = lineStart(number, group, firstRow, lowKey);
  Value lastOffset = clampOffset(*this, number, b.add(b.sub(highKey, first), -1));
  Value lastElement = b.add(lastOffset, tileVectors * lanes - 1 - plan.origin);
  Value end = b.minimum(b.add(b.divide(lastElement, lanes), 1), b.index(plan.lineVectors));

  Value lowest = b.integerTable(tables.lowest);
  Value firstPanel = b.index(term.firstRow / lanes), endPanel = b.index((term.endRow - 1) / lanes + 1);
  if (tables.monotone && term.endRow - term.firstRow > 2 * tileVectors * lanes) {
    Value highest = b.integerTable(tables.highest), lastVector = b.add(end, -1);
    Value low = b.minimum(b.tableElement(lowest, start), b.tableElement(lowest, lastVector));
    Value high = b.maximum(b.tableElement(highest, start), b.tableElement(highest, lastVector));
    firstPanel = b.divide(low, lanes);
    endPanel = b.add(b.divide(high, lanes), 1);
  }
  rowLogits(number, group, firstPanel, endPanel, b.index(0));

  Value rows = b.integerTable(tables.rows), origin = b.mul(firstPanel, lanes);
  Value line = b.mul(group, tileRows * plan.lineStride);
  b.loop(start, end, 1, [&](Value vector) {
    Value pattern = b.loadIntegers(rows, b.mul(vector, lanes));
    Value some = term.offsets.hasNone()
                     ? arith::CmpIOp::create(b.builder, arith::CmpIPredicate::sge, pattern, b.integer(0)).getResult()
                     : Value();
    Value from = tables.permutes ? b.sub(b.tableElement(lowest, vector), origin) : b.index(0);
    if (!tables.permutes)
      pattern = arith::SubIOp::create(b.builder, pattern, b.broadcastIndex(origin));
    Value to = b.add(line, b.mul(b.sub(vector, start), lanes));
    for (int64_t r = 0; r < tileRows; ++r) {
      Value at = b.add(from, r * plan.productStride), x;
      if (tables.permutes) {
        x = b.permute(b.load(plan.productsBuffer, at), pattern);
        x = some ? b.select(some, x, b.constant(0)) : x;
      } else {
        x = b.gather(plan.productsBuffer, at, pattern, some);
      }
      b.store(x, plan.linesBuffer, b.add(to, r * plan.lineStride));
    }
  });
}

void CpuKernel::addOffsetLine(unsigned number, Value group, Value firstRow, Value lowKey, Value key, int64_t vectors,
                              SmallVector<Value> &sums) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  Value row = b.mul(group, tileRows), first = b.add(firstRow, row);
  Value start = b.mul(lineStart(number, group, firstRow, lowKey), lanes);
  Value line = b.sub(b.mul(row, plan.lineStride), b.add(start, plan.origin));
  // Rows below the last query are among the offsets too.
  bool inside = plan.origin <= 1 - shape.queries - tileRows && shape.keys <= term.offsets.high() + 1;
  for (int64_t r = 0; r < tileRows; ++r) {
    Value offset = b.add(b.sub(key, first), -r);
    if (!inside)
      offset = clampOffset(*this, number, offset);
    Value at = b.add(b.add(line, offset), r * plan.lineStride);
    for (int64_t v = 0; v < vectors; ++v) {
      Value &sum = sums[r * vectors + v];
      sum = b.addf(sum, b.load(plan.linesBuffer, b.add(at, v * lanes)));
    }
  }
}
