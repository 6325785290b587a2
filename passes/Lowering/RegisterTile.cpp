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

SmallVector<Value> skewer::sumInChunks(VectorBuilder &b, int64_t depth, const Summation &summation, Value held,
                                       ArrayRef<Value> places,
                                       const std::function<SmallVector<Value>(Value first, int64_t steps)> &products) {
  int64_t chunk = summation.chunk, whole = depth / chunk * chunk;
  SmallVector<Value> sums = products(b.index(0), std::min(chunk, depth));
  if (depth <= chunk)
    return sums;
  auto store = [&] {
    for (auto [sum, place] : llvm::zip(sums, places))
      b.store(sum, held, place);
  };
  if (!summation.lows) {
    for (int64_t first = chunk; first < depth; first += chunk) {
      store();
      sums = products(b.index(first), std::min(chunk, depth - first));
      for (auto [sum, place] : llvm::zip(sums, places))
        sum = b.addf(b.load(held, place), sum);
    }
    return sums;
  }
  auto lowOf = [&](size_t number) { return b.index(static_cast<int64_t>(number) * b.lanes); };
  store();
  for (size_t number = 0; number < sums.size(); ++number)
    b.store(b.constant(0), summation.lows, lowOf(number));
  auto add = [&](Value first, int64_t steps) {
    SmallVector<Value> more = products(first, steps);
    for (auto [number, x] : llvm::enumerate(more)) {
      Value before = b.load(held, places[number]), sum = b.addf(before, x), added = b.subf(sum, before);
      Value lost = b.addf(b.subf(before, b.subf(sum, added)), b.subf(x, added));
      b.store(sum, held, places[number]);
      b.store(b.addf(b.load(summation.lows, lowOf(number)), lost), summation.lows, lowOf(number));
    }
  };
  b.loop(b.index(chunk), b.index(whole), chunk, [&](Value first) { add(first, chunk); });
  if (whole < depth)
    add(b.index(whole), depth - whole);
  for (auto [number, sum] : llvm::enumerate(sums)) {
    Value high = b.load(held, places[number]), low = b.load(summation.lows, lowOf(number));
    // What an infinite sum has lost is no number.
    sum = b.select(b.compare(arith::CmpFPredicate::UNO, low, low), high, b.addf(high, low));
  }
  return sums;
}

void skewer::multiplyInto(VectorBuilder &b, int64_t tileRows, int64_t vectors, int64_t depth,
                          const Summation &summation, const ProductOperand &rows, const ProductOperand &panels,
                          const ProductOperand &target) {
  SmallVector<Value> places;
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      places.push_back(b.add(target.base, r * target.stride + v * b.lanes));
  SmallVector<Value> sums = sumInChunks(b, depth, summation, target.memory, places, [&](Value first, int64_t steps) {
    SmallVector<Value> none(tileRows * vectors, b.constant(0));
    return multiply(b, tileRows, vectors, steps, none, {rows.memory, b.add(rows.base, first), rows.stride},
                    {panels.memory, b.add(panels.base, b.mul(first, b.lanes)), panels.stride});
  });
  for (auto [sum, place] : llvm::zip(sums, places))
    b.store(sum, target.memory, place);
}
