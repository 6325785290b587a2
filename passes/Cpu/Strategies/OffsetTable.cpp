// Packs tables by key - query into panels, and computes logits of the columns that a group of rows can reach
// (OffsetTable.h). Column u belongs to key - query = u - constant, so that the skew only changes where the next load
// starts.
#include "passes/Cpu/Strategies/OffsetTable.h"
#include "dialect/Subscript/Analysis.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

OffsetTable::OffsetTable(CpuKernel &kernel, const RowTerm &term, const CpuEngine &engine)
    : CpuStrategy(kernel, engine), term(term), table(kernel.context, term) {
  // Rows of a table that counts query - key are packed in reverse, so that columns always count key - query.
  constant = term.linear.sign > 0 ? term.linear.constant : term.rows - 1 - term.linear.constant;
  table.itemsOfCopy = llvm::divideCeil(term.rows, lanes) + tileVectors;
  table.copyFloats = table.itemsOfCopy * stride();
  // The content's packed queries serve if they are the same rows; a different scale moves into the table, or follows
  // the sums.
  ownQueries = true;
  if (&kernel.content.engine == &engine && depth == steps() && !shape.content.empty()) {
    const ContentTerm &content = shape.content[0];
    const Walk &a = content.query, &q = term.vector;
    if (!content.inPlace && a.argument == q.argument && a.base == q.base && a.query == q.query && a.depth == q.depth &&
        content.depth == term.depth && content.scale != 0 && std::isfinite(term.scale / content.scale)) {
      ownQueries = false;
      factor = term.scale / content.scale;
    }
  }
}

PanelTarget OffsetTable::panelsOf(Value target, Value copy) {
  PanelTarget place{target, b.mul(copy, table.copyFloats), stride()};
  place.lineStride = lanes;
  return place;
}

void OffsetTable::packItem(Value target, Value copy, Value panel) {
  PanelTarget place = panelsOf(target, copy);
  engine.packPanel(b,
                   {memory.arguments[term.table], positions.baseOf(term.tableBase), term.rowStride, term.depthStride,
                    term.rows, term.depth, engine.packedFactor(factor), term.linear.sign < 0, rowLength(), apart},
                   place, panel);
}

Value OffsetTable::rowLength() { return term.rowLength ? positions.baseOf(*term.rowLength) : Value(); }

Value OffsetTable::firstColumn() {
  Value shift = term.linear.shift.isConstant(0) ? b.index(0) : positions.baseOf(term.linear.shift);
  if (term.linear.sign < 0 && term.rowLength)
    return b.sub(b.sub(rowLength(), b.index(term.linear.constant + 1)), shift);
  // Tables that count query - key are packed in reverse.
  return term.linear.sign > 0 ? b.add(shift, constant) : b.sub(b.index(constant), shift);
}

OffsetLogits::OffsetLogits(CpuKernel &kernel, const RowTerm &term)
    : OffsetTable(kernel, term, kernel.context.stage.engineOf(term.vector.argument, term.table)) {
  // A group with one value of the query axis needs as many columns as the key axis has values. If these fit in a
  // vector, a panel for each first column makes it one vector: columns from any place on lie in two panels, else.
  bool isOneVector = !isWhole() && term.linear.queryAxis.inner % tileRows == 0 && term.linear.keyAxis.extent <= lanes;
  constexpr int64_t kMostPanels = 128; // of 4 KB at a depth of 64: half of a small L2
  if (!isOneVector || term.rows > kMostPanels || shape.hasLength() || !term.linear.shift.isConstant(0) ||
      !engine.packsFloats())
    return;
  apart = 1;
  table.itemsOfCopy = term.rows;
  table.copyFloats = table.itemsOfCopy * stride();
}

void OffsetLogits::plan(Layout &layout) {
  if (isWhole() && engine.storesSums(term.scale, summation().compensated))
    together = g.groupsTogether;
  table.plan(layout, Layout::Zone::Windows);
  layout.reserve(queries, ownQueries ? rowBlock * steps() : 0, Layout::Zone::Windows);
  int64_t span = term.linear.keyAxis.isWhole(shape.keys) ? keyBlock : term.linear.keyAxis.extent;
  int64_t rows = together * tileRows;
  span += term.linear.queryAxis.isWhole(shape.queries) ? rows : std::max(term.linear.queryAxis.extent, rows);
  // Reads before and behind the computed columns stay inside the buffer: their keys are masked or overwritten.
  int64_t innermost = shape.keyAxes.size() > 1 ? shape.keyAxes.back().extent : 0;
  margin = llvm::alignTo((tileVectors + 1) * lanes + rows + innermost, lanes);
  logitsStride = llvm::alignTo(span, lanes) + (tileVectors + 2) * lanes + 2 * margin;
  layout.reserve(logits, rowBlock * logitsStride, Layout::Zone::Windows);
}

void OffsetLogits::open() {
  tableMemory = table.view();
  logitsMemory = view(memory.local, logits);
  queriesMemory = ownQueries ? view(memory.local, queries) : kernel.content.queries();
}

void OffsetLogits::packQueries(const RowBlock &block) {
  if (ownQueries)
    kernel.packer.packQueryRows(engine, term.vector, term.depth, engine.packedFactor(term.scale), block, queriesMemory,
                                steps());
}

/// Returns the first and the last value of an axis over a row group; its whole extent if the axis wraps inside the
/// group.
std::pair<Value, Value> OffsetLogits::axisRange(const MapAxis &axis, Value first, Value last) {
  if (axis.isWhole(shape.queries))
    return {first, last};
  Value low = positions.axisOf(axis, first), high = positions.axisOf(axis, last);
  if (axis.inner * axis.extent >= shape.queries)
    return {low, high};
  int64_t period = axis.inner * axis.extent;
  Value same =
      arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, b.divide(first, period), b.divide(last, period));
  return {b.select(same, low, b.index(0)), b.select(same, high, b.index(axis.extent - 1))};
}

Value OffsetLogits::firstRowOf(Value group, Value firstRow) {
  Value first = together > 1 ? b.mul(b.divide(group, together), together) : group;
  return b.add(firstRow, b.mul(first, tileRows));
}

Value OffsetLogits::lastRow(Value group, Value firstRow) {
  Value last = b.add(firstRowOf(group, firstRow), together * tileRows - 1);
  return b.minimum(last, shape.bounds.queryLength ? b.add(positions.queries(), -1) : b.index(shape.queries - 1));
}

Value OffsetLogits::startOf(Value group, Value firstRow, Value lowKey) {
  auto [low, high] = axisRange(term.linear.queryAxis, firstRowOf(group, firstRow), lastRow(group, firstRow));
  Value keys = term.linear.keyAxis.isWhole(shape.keys) ? lowKey : b.index(0);
  Value column = b.sub(b.add(keys, firstColumn()), high);
  return b.maximum(b.floorDiv(column, columnsApart()), b.index(0));
}

Summation OffsetLogits::summation() const {
  bool large = !isWhole() || ownQueries || std::abs(factor) >= kLargeFactor;
  bool huge = isWhole() && context.isHuge(term.scale, term.depth);
  return huge ? kCompensated : Summation{large ? kChunk : std::max<int64_t>(steps(), 1)};
}

void OffsetLogits::computeLogits(Value group, Value firstRow, Value lowKey, Value highKey) {
  Value start = startOf(group, firstRow, lowKey);
  auto [low, high] = axisRange(term.linear.queryAxis, firstRowOf(group, firstRow), lastRow(group, firstRow));
  Value lastKey =
      term.linear.keyAxis.isWhole(shape.keys) ? b.add(highKey, -1) : b.index(term.linear.keyAxis.extent - 1);
  Value lastColumn = b.sub(b.add(lastKey, firstColumn()), low);
  Value end = b.add(b.floorDiv(lastColumn, lanes), 1);
  end = b.minimum(end, b.index(table.itemsOfCopy - tileVectors));

  Value copy = table.copyOfHead();
  int64_t rowStride = ownQueries ? steps() : depth;
  Value rowsBase = b.mul(group, tileRows * rowStride);
  Value target = b.add(b.mul(group, tileRows * logitsStride), margin);
  auto productOf = [&](Value panel, int64_t vectors) {
    Value panelBase = b.add(copy, b.mul(panel, stride()));
    TileProduct product{{0, together * tileRows, 0, vectors},
                        steps(),
                        summation(),
                        {queriesMemory, rowsBase, rowStride},
                        {tableMemory, panelBase, stride()}};
    product.scale = engine.factorOfSums(term.scale);
    return product;
  };
  auto tile = [&](Value panel, int64_t vectors) {
    Value column = b.add(target, b.mul(b.sub(panel, start), columnsApart()));
    engine.multiplyInto(b, productOf(panel, vectors), {logitsMemory, column, logitsStride});
  };
  if (apart)
    return b.when(b.less(start, b.index(table.itemsOfCopy)), [&] { tile(start, 1); });
  // Whole tiles first, then single vectors: one more tile would compute up to three vectors too many.
  Value count = b.maximum(b.sub(end, start), b.index(0));
  if (together > 1)
    return engine.multiplyColumns(b, productOf(start, tileVectors), count, {logitsMemory, target, logitsStride});
  Value whole = b.add(start, b.mul(b.divide(count, tileVectors), tileVectors));
  b.loop(start, whole, tileVectors, [&](Value panel) { tile(panel, tileVectors); });
  b.loop(whole, end, 1, [&](Value panel) { tile(panel, 1); });
}
