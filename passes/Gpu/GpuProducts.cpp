// Products of the tensor cores. Numbers of f32 are multiplied as tf32 three times: the numbers themselves, rounded to
// 11 bits, and each with the other's rest. What is left out is below a 2^-20th (Markidis et al. 2018,
// arXiv:1803.04014); cut off instead of rounded, it would be four times as much and always of the same sign (Ootomo and
// Yokota 2022, arXiv:2203.03341). For the same reason such products are no chain over all keys, or a whole depth: a
// tensor core cuts its sums off, so these begin at 0 and are added to each other outside.
#include "mlir/IR/Matchers.h"
#include "passes/Gpu/GpuTiles.h"

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

std::vector<Accumulator> GpuTiles::zeros(size_t count) {
  Value zero = b.f32(0);
  return std::vector<Accumulator>(count, {zero, zero, zero, zero});
}

std::vector<Accumulator> GpuTiles::sumOf(const std::vector<Accumulator> &x, const std::vector<Accumulator> &y) {
  std::vector<Accumulator> sums = y;
  for (auto [number, other] : llvm::zip_equal(x, sums))
    for (size_t k = 0; k < 4; ++k)
      if (!matchPattern(number[k], m_PosZeroFloat()))
        other[k] = b.addf(number[k], other[k]);
  return sums;
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
  return gathered(chosen);
}

RowFragment GpuTiles::rowFragment(const TileRows &from, Value chunk) {
  // Lanes 0 … 15 name the rows of the left 16 bytes of a step, lanes 16 … 31 those of the right ones.
  Value row = b.bitAnd(lane, 15);
  if (from.first)
    row = b.add(row, from.first);
  return b.loadMatrices(offsetIn(from.tile, from.copy, row, b.add(b.shiftRight(lane, 4), chunk)), false);
}

std::array<ColumnFragment, 2> GpuTiles::columnFragments(const TileRows &from, int64_t pair, Value chunk) {
  // Lanes 0 … 7 and 8 … 15 name the halves of the first eight rows.
  Value row = b.add(b.bitAnd(lane, 7), b.shiftLeft(b.shiftRight(lane, 4), 3));
  if (from.first)
    row = b.add(row, from.first);
  row = b.add(row, 16 * pair);
  Value half = b.bitAnd(b.shiftRight(lane, 3), 1);
  RowFragment loaded = b.loadMatrices(offsetIn(from.tile, from.copy, row, b.add(half, chunk)), false);
  return {ColumnFragment{loaded[0], loaded[1]}, {loaded[2], loaded[3]}};
}

std::vector<Accumulator> GpuTiles::sumOfTileProducts(const std::vector<Accumulator> &before, const TileRows &rows,
                                                     ArrayRef<RowFragment> held, const TileRows &columns,
                                                     int64_t together) {
  int64_t steps = columns.tile.steps();
  return sumOfProducts(before, [&](Precision precision, std::vector<Accumulator> &sums) {
    /// Adds `count` steps, of which each begins at the chunk that is told for it.
    auto addSteps = [&](std::vector<Accumulator> &sums, int64_t count, llvm::function_ref<Value(int64_t)> chunkOf) {
      std::vector<Accumulator> chain = addsOutside ? zeros(sums.size()) : sums;
      for (int64_t step = 0; step < count; ++step) {
        if (addsOutside && step && step % kStepsOfChain == 0) {
          sums = sumOf(sums, chain);
          chain = zeros(sums.size());
        }
        Value chunk = chunkOf(step);
        bool isHeld = count == steps && !held.empty();
        RowOperand operand = operandOf(isHeld ? held[size_t(step)] : rowFragment(rows, chunk), precision);
        for (size_t n = 0; n < chain.size(); n += 2)
          for (auto [side, column] : llvm::enumerate(columnFragments(columns, int64_t(n / 2), chunk)))
            chain[n + side] = addProduct(operand, column, chain[n + side]);
      }
      sums = addsOutside ? sumOf(sums, chain) : chain;
    };
    // What is done again is rare.
    int64_t inTurn = std::min(steps, precision == Precision::Once ? 1 : together);
    while (steps % inTurn)
      --inTurn;
    if (inTurn == steps)
      return addSteps(sums, steps, [&](int64_t step) { return b.i32(2 * step); });
    sums = gathered(b.loop(b.i32(0), b.i32(2 * steps), 2 * inTurn, flattened(sums), [&](Value first, ValueRange flat) {
      std::vector<Accumulator> inside = gathered(flat);
      addSteps(inside, inTurn, [&](int64_t step) { return b.add(first, 2 * step); });
      return flattened(inside);
    }));
  });
}
