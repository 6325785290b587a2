// Byte offsets in shared memory, and the functions that all pipelines share.
#include "passes/Gpu/Pipeline.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

Value skewer::gpu::offsetIn(GpuBuilder &b, const SharedTile &where, Value copy, Value row, Value chunk) {
  Value offset = b.add(b.mul(row, where.rowBytes()), b.shiftLeft(chunk, 4));
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
  fill(
      to, from,
      [&](Value row) -> std::pair<Value, Value> {
        Value source = b.add(first, row);
        return {b.minimum(source, b.add(end, -1)), b.less(source, end)};
      },
      copy);
}
