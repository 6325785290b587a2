// Finds the table's row for each row of the window.
#include "passes/Gpu/Strategies/BandWindow.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;

std::pair<Value, Value> BandWindow::rowAt(Value offset, Value constant) {
  GpuBuilder &b = in.b;
  Value row;
  if (term.offsets) {
    Expr place =
        subscript::clamp(Expr::symbol("offset") - Expr(term.offsets->low), 0, int64_t(term.offsets->rows.size()) - 1);
    auto entries = std::make_shared<const std::vector<int64_t>>(term.offsets->rows);
    row = b.toI32(in.operands.index(Expr::table(entries, place), {{"offset", b.toIndex(offset)}}));
  } else {
    row = term.sign > 0 ? b.add(offset, constant) : b.sub(constant, offset);
  }
  Value rows = in.place.rowsOf(term.rowLength, term.rows);
  Value there = b.both(b.lessEqual(b.i32(0), row), b.less(row, rows));
  return {b.minimum(b.maximum(row, b.i32(0)), b.add(rows, -1)), there};
}

void BandWindow::fill(Value firstKey, Value copy) {
  GpuBuilder &b = in.b;
  // Row r of the window is for key - query = firstKey - the block's first query - (rows - 1) + r.
  Value first = b.add(b.sub(firstKey, in.place.row), 1 - in.tile.rows);
  Value constant = b.i32(term.constant);
  if (!term.shift.isConstant(0)) {
    // Far from the table's rows, the exact distance makes no difference.
    Value far = b.i64(int64_t(1) << 30), shifted = b.add(in.place.baseOf(term.shift), term.constant);
    constant = arith::TruncIOp::create(b, b.getI32Type(), b.minimum(b.maximum(shifted, b.sub(b.i64(0), far)), far));
  }
  auto map = [&](Value row) { return rowAt(b.add(first, row), constant); };
  if (term.offsets)
    return in.pipeline.fill(windowTile, source, map, copy);
  // Rows follow each other, up or down, from the row of the first offset on.
  Value row = term.sign > 0 ? b.add(first, constant) : b.sub(constant, first);
  Value low = term.sign > 0 ? row : b.add(row, 1 - windowTile.rows);
  Value rows = in.place.rowsOf(term.rowLength, term.rows);
  Value isRun = b.both(b.lessEqual(b.i32(0), low), b.lessEqual(b.add(low, windowTile.rows), rows));
  RowSource run = source;
  if (term.sign < 0) {
    run.base = b.add(run.base, b.mul(b.toI64(row), run.rowStride));
    run.rowStride = -run.rowStride;
    row = b.i32(0);
  }
  // The map takes rows of the table itself, and the run those of a source that may go down.
  in.pipeline.fillRun(windowTile, source, run, row, isRun, map, copy);
}

Value BandWindow::hasRows(Value firstKey) {
  GpuBuilder &b = in.b;
  const AttentionShape &attention = in.shape.attention;
  if (!term.reach || (term.reach->low <= 1 - attention.queries && term.reach->high >= attention.keys - 1))
    return {};
  Value first = b.sub(firstKey, b.add(in.place.row, in.tile.rows - 1));
  Value last = b.sub(b.add(firstKey, in.tile.keys - 1), in.place.row);
  return b.both(b.lessEqual(first, b.i32(std::min(term.reach->high, attention.keys))),
                b.lessEqual(b.i32(std::max(term.reach->low, -attention.queries)), last));
}

TileRows BandWindow::rowsOf(int64_t rowTile, Value copy) {
  GpuBuilder &b = in.b;
  Value first = b.sub(b.i32(in.tile.rows - 16 * (rowTile + 1)), in.place.scores.warpRow());
  return {windowTile, copy, first};
}
