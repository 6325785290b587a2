// Products of the tensor cores. Numbers of f32 are multiplied as tf32 three times: the numbers themselves, rounded to
// 11 bits, and each with the other's rest. What is left out is below a 2^-20th (Markidis et al. 2018,
// arXiv:1803.04014); cut off instead of rounded, it would be four times as much and always of the same sign (Ootomo and
// Yokota 2022, arXiv:2203.03341).
#include "passes/LoweringGpu/GpuTiles.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

RowOperand GpuTiles::operandOf(const RowFragment &rows, Precision precision) {
  RowOperand operand{rows, std::nullopt};
  if (!multiplied.isF32() || precision == Precision::Once)
    return operand;
  operand.rest.emplace();
  for (auto [row, whole, rest] : llvm::zip_equal(rows, operand.whole, *operand.rest)) {
    whole = b.nearestTf32(row);
    rest = b.restOf(row);
  }
  return operand;
}

Accumulator GpuTiles::addProduct(const RowOperand &rows, const ColumnFragment &columns, const Accumulator &sum) {
  if (!rows.rest)
    return b.multiply(rows.whole, columns, sum, multiplied);
  ColumnFragment nearest = {b.nearestTf32(columns[0]), b.nearestTf32(columns[1])};
  Accumulator result = b.multiply(*rows.rest, nearest, sum, multiplied); // the small ones first
  result = b.multiply(rows.whole, {b.restOf(columns[0]), b.restOf(columns[1])}, result, multiplied);
  return b.multiply(rows.whole, nearest, result, multiplied);
}

Value GpuTiles::someAreNan(ArrayRef<Accumulator> sums) {
  Value found;
  for (const Accumulator &sum : sums)
    for (Value number : sum) {
      Value nan = b.isNan(number);
      found = found ? Value(arith::OrIOp::create(b, found, nan)) : nan;
    }
  return b.anyLane(found);
}

SmallVector<Value> skewer::gpu::flattened(ArrayRef<Accumulator> sums) {
  SmallVector<Value> flat;
  for (const Accumulator &sum : sums)
    flat.append(sum.begin(), sum.end());
  return flat;
}

std::vector<Accumulator> GpuTiles::sumOfProducts(const std::vector<Accumulator> &before, AddProducts add) {
  std::vector<Accumulator> sums = before;
  add(Precision::Full, sums);
  if (!multiplied.isF32())
    return sums;
  // Infinity less its tf32 is NaN. A product of tf32 alone has the infinities and the NaN of f32, so it takes the place
  // of what is no number.
  SmallVector<Value> flat = flattened(sums);
  SmallVector<Value> chosen = b.choose(
      someAreNan(sums), TypeRange(ValueRange(flat)),
      [&] {
        std::vector<Accumulator> again = before;
        add(Precision::Once, again);
        SmallVector<Value> repaired = flattened(again);
        for (auto [number, other] : llvm::zip_equal(repaired, flat))
          number = b.select(b.isNan(other), number, other);
        return repaired;
      },
      [&] { return flat; });
  for (size_t n = 0; n < chosen.size(); ++n)
    sums[n / 4][n % 4] = chosen[n];
  return sums;
}
