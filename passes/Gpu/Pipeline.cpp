// Byte offsets in shared memory, and the functions that all pipelines share.
#include "passes/Gpu/Pipeline.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

Value skewer::gpu::offsetIn(GpuBuilder &b, const SharedTile &where, Value copy, Value row, Value chunk) {
  if (where.panel) {
    // The rows of a panel whose chunks have the same places: 1 of 128 bytes, 2 of 64, 4 of 32.
    int64_t chunks = where.panel / 16, together = 128 / where.panel;
    Value permuted = b.bitAnd(b.divide(row, together), chunks - 1);
    Value inPanel = arith::XOrIOp::create(b, b.remainder(chunk, chunks), permuted);
    Value panel = b.mul(b.divide(chunk, chunks), where.rows * where.panel);
    chunk = inPanel;
    row = b.mul(row, where.rowBytes());
    row = b.add(row, panel);
  } else {
    row = b.mul(row, where.rowBytes());
  }
  Value offset = b.add(row, b.shiftLeft(chunk, 4));
  if (copy)
    offset = b.add(offset, b.mul(copy, where.bytes()));
  return b.add(offset, where.offset);
}

void Pipeline::bring(llvm::function_ref<void()> fill) {
  if (!isSingleBuffered())
    return;
  empty();
  fill();
  commit();
  allFull();
}

void Pipeline::fillRows(const SharedTile &to, const RowSource &from, Value first, Value end, Value copy) {
  auto map = [&](Value row) -> std::pair<Value, Value> {
    Value source = b.add(first, row);
    return {b.minimum(source, b.add(end, -1)), b.less(source, end)};
  };
  fillRun(to, from, from, first, b.lessEqual(b.add(first, to.rows), end), map, copy);
}
