// The register tile: rows broadcast from memory times panels of vectors, accumulated in registers.
#include "passes/Lowering/CpuKernel.h"

using namespace mlir;
using namespace skewer;

// Steps of the depth loop written out. 4 measured best together with 6x4 tiles on Zen 5 and Cascade Lake.
static constexpr int64_t kUnroll = 4;

SmallVector<Value> CpuKernel::multiply(int64_t rows, int64_t vectors, int64_t termDepth,
                                       SmallVector<Value> accumulators, Value rowsBuffer, Value rowsBase,
                                       int64_t rowStride, Value panels, Value panelBase, int64_t stride) {
  auto steps = [&](Value k, int64_t count, SmallVector<Value> sums) {
    Value row = b.add(rowsBase, k), panel = b.add(panelBase, b.mul(k, lanes));
    for (int64_t step = 0; step < count; ++step) {
      SmallVector<Value> columns;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(b.load(panels, b.add(panel, v * stride + step * lanes)));
      for (int64_t r = 0; r < rows; ++r) {
        Value x = b.loadBroadcast(rowsBuffer, b.add(row, r * rowStride + step));
        for (int64_t v = 0; v < vectors; ++v)
          sums[r * vectors + v] = b.fma(x, columns[v], sums[r * vectors + v]);
      }
    }
    return sums;
  };
  int64_t whole = termDepth / kUnroll * kUnroll;
  if (whole)
    accumulators = b.loop(b.index(0), b.index(whole), kUnroll, accumulators,
                          [&](Value k, ValueRange sums) { return steps(k, kUnroll, SmallVector<Value>(sums)); });
  if (whole < termDepth)
    accumulators = steps(b.index(whole), termDepth - whole, accumulators);
  return accumulators;
}

void CpuKernel::multiplyInto(int64_t rows, int64_t vectors, int64_t termDepth, int64_t chunk, Value rowsBuffer,
                             Value rowsBase, int64_t rowStride, Value panels, Value panelBase, int64_t stride,
                             Value target, Value at, int64_t targetStride) {
  for (int64_t first = 0; first < std::max<int64_t>(termDepth, 1); first += chunk) {
    SmallVector<Value> sums(rows * vectors, b.constant(0));
    sums = multiply(rows, vectors, std::min(chunk, termDepth - first), sums, rowsBuffer, b.add(rowsBase, first),
                    rowStride, panels, b.add(panelBase, first * lanes), stride);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Value place = b.add(at, r * targetStride + v * lanes), sum = sums[r * vectors + v];
        b.store(first ? b.addf(sum, b.load(target, place)) : sum, target, place);
      }
  }
}
