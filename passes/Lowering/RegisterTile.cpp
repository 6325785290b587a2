// The register tile: rows broadcast from memory times panels of vectors, accumulated in registers.
#include "passes/Lowering/Panels.h"

using namespace mlir;
using namespace skewer;

// kStepsOfTurn: 4 measured best together with 6x4 tiles on Zen 5 and Cascade Lake.
SmallVector<Value> skewer::multiply(VectorBuilder &b, int64_t tileRows, int64_t vectors, int64_t depth,
                                    SmallVector<Value> accumulators, const ProductOperand &rows,
                                    const ProductOperand &panels, const BesideSteps &beside) {
  auto steps = [&](Value k, int64_t count, SmallVector<Value> sums) {
    Value row = b.add(rows.base, k), panel = b.add(panels.base, b.mul(k, b.lanes));
    for (int64_t step = 0; step < count; ++step) {
      SmallVector<Value> columns;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(b.load(panels.memory, b.add(panel, v * panels.stride + step * b.lanes)));
      for (int64_t r = 0; r < tileRows; ++r) {
        Value x = b.loadBroadcast(rows.memory, b.add(row, r * rows.stride + step));
        for (int64_t v = 0; v < vectors; ++v)
          sums[r * vectors + v] = b.fma(x, columns[v], sums[r * vectors + v]);
      }
    }
    return sums;
  };
  int64_t whole = depth / kStepsOfTurn * kStepsOfTurn;
  if (whole)
    accumulators = b.loop(b.index(0), b.index(whole), kStepsOfTurn, accumulators, [&](Value k, ValueRange sums) {
      if (beside)
        beside(k);
      return steps(k, kStepsOfTurn, SmallVector<Value>(sums));
    });
  if (whole < depth)
    accumulators = steps(b.index(whole), depth - whole, accumulators);
  return accumulators;
}

void skewer::multiplyInto(VectorBuilder &b, int64_t tileRows, int64_t vectors, int64_t depth, int64_t chunk,
                          const ProductOperand &rows, const ProductOperand &panels, const ProductOperand &target) {
  for (int64_t first = 0; first < std::max<int64_t>(depth, 1); first += chunk) {
    SmallVector<Value> sums(tileRows * vectors, b.constant(0));
    sums = multiply(b, tileRows, vectors, std::min(chunk, depth - first), sums,
                    {rows.memory, b.add(rows.base, first), rows.stride},
                    {panels.memory, b.add(panels.base, first * b.lanes), panels.stride});
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Value place = b.add(target.base, r * target.stride + v * b.lanes), sum = sums[r * vectors + v];
        b.store(first ? b.addf(sum, b.load(target.memory, place)) : sum, target.memory, place);
      }
  }
}
