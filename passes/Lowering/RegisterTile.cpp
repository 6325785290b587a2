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
    accumulators = b.loop(b.index(0), b.index(whole), kUnroll, accumulators, [&](Value k, ValueRange sums) {
      return steps(k, kUnroll, SmallVector<Value>(sums));
    });
  if (whole < termDepth)
    accumulators = steps(b.index(whole), termDepth - whole, accumulators);
  return accumulators;
}
