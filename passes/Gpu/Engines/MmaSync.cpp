// Products on tensor cores. Numbers of f32 are multiplied as tf32 in three products: of the numbers themselves, rounded
// to 11 bits, and of each number with the other's rest. The product of the rests is left out; it is below a 2^-20th
// (Markidis et al. 2018, arXiv:1803.04014). If numbers were cut off instead of rounded, it would be four times as much
// and always of the same sign (Ootomo and Yokota 2022, arXiv:2203.03341). For the same reason such products form no
// chain over all keys or a whole depth: a tensor core cuts its sums off, so the chains begin at 0 and are added to each
// other outside.
#include "passes/Gpu/Engines/MmaSync.h"
#include "mlir/IR/Matchers.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/Pipeline.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace skewer::gpu {
std::unique_ptr<Engine> makeMmaSync(const EngineSetup &setup) {
  return std::make_unique<MmaSync>(setup.b, setup.shared, setup.at, setup.element, setup.products,
                                   setup.signedWeights);
}
} // namespace skewer::gpu

//===- Operand tiles ---------------------------------------------------------------===//

Value MmaSync::chunkAt(const TileRows &in, Value row, Value chunk) {
  return shared.at(offsetIn(b, in.tile, in.copy, row, chunk));
}

RowFragment MmaSync::rowFragment(const TileRows &from, Value chunk) {
  // Lanes 0 … 15 name the rows of the left 16 bytes of a step, lanes 16 … 31 name the rows of the right 16 bytes.
  Value row = b.bitAnd(at.lane, 15);
  if (from.first)
    row = b.add(row, from.first);
  return loadMatrices(b, chunkAt(from, row, b.add(b.shiftRight(at.lane, 4), chunk)), false);
}

std::array<ColumnFragment, 2> MmaSync::columnFragments(const TileRows &from, int64_t pair, Value chunk) {
  // Lanes 0 … 7 and 8 … 15 name the two halves of the first eight rows.
  Value row = b.add(b.bitAnd(at.lane, 7), b.shiftLeft(b.shiftRight(at.lane, 4), 3));
  if (from.first)
    row = b.add(row, from.first);
  row = b.add(row, 16 * pair);
  Value half = b.bitAnd(b.shiftRight(at.lane, 3), 1);
  RowFragment loaded = loadMatrices(b, chunkAt(from, row, b.add(half, chunk)), false);
  return {ColumnFragment{loaded[0], loaded[1]}, {loaded[2], loaded[3]}};
}

static TileRows rowTileOf(GpuBuilder &b, const TileRows &rows, int64_t rowTile) {
  return {rows.tile, rows.copy, rowTile ? b.add(rows.first, 16 * rowTile) : rows.first};
}

std::vector<RowFragment> MmaSync::hold(const TileRows &rows, int64_t rowTiles) {
  std::vector<RowFragment> held;
  for (int64_t rowTile = 0; rowTile < rowTiles; ++rowTile)
    for (int64_t step = 0; step < rows.tile.steps(); ++step)
      held.push_back(rowFragment(rowTileOf(b, rows, rowTile), b.i32(2 * step)));
  return held;
}

RowOperand MmaSync::operandOf(const RowFragment &rows, Precision precision) {
  RowOperand operand{rows, std::nullopt};
  if (!element.isF32() || precision == Precision::Once)
    return operand;
  operand.rest.emplace();
  for (auto [row, whole, rest] : llvm::zip_equal(rows, operand.whole, *operand.rest)) {
    whole = nearestTf32(b, row);
    rest = restOf(b, row);
  }
  return operand;
}

MmaSync::Operands MmaSync::operandsOf(const OperandRows &from, int64_t steps, int64_t step, Value chunk,
                                      Precision precision) {
  Operands operands;
  for (int64_t rowTile = 0; rowTile < from.rowTiles; ++rowTile)
    operands.push_back(operandOf(from.held.empty() ? rowFragment(rowTileOf(b, from.rows, rowTile), chunk)
                                                   : from.held[size_t(rowTile * steps + step)],
                                 precision));
  return operands;
}

//===- Products and their sums -------------------------------------------------------===//

Accumulator MmaSync::addProduct(const RowOperand &rows, const ColumnFragment &columns, const Accumulator &sum) {
  if (!rows.rest)
    return multiply(b, rows.whole, columns, sum, element);
  ColumnFragment nearest = {nearestTf32(b, columns[0]), nearestTf32(b, columns[1])};
  Accumulator result = multiply(b, *rows.rest, nearest, sum, element); // the small products first
  result = multiply(b, rows.whole, {restOf(b, columns[0]), restOf(b, columns[1])}, result, element);
  return multiply(b, rows.whole, nearest, result, element);
}

Tiles MmaSync::zeros(size_t count) {
  Value zero = b.f32(0);
  return Tiles(count, {zero, zero, zero, zero});
}

Tiles MmaSync::sumOf(const Tiles &x, const Tiles &y) {
  Tiles sums = y;
  for (auto [number, other] : llvm::zip_equal(x, sums))
    for (size_t k = 0; k < 4; ++k)
      if (!matchPattern(number[k], m_PosZeroFloat()))
        other[k] = b.addf(number[k], other[k]);
  return sums;
}

Value MmaSync::someAreNan(ArrayRef<Accumulator> sums) {
  Value found;
  for (const Accumulator &sum : sums)
    for (Value number : sum) {
      Value nan = b.isNan(number);
      found = found ? Value(arith::OrIOp::create(b, found, nan)) : nan;
    }
  return anyLane(b, found);
}

void MmaSync::addSteps(Tiles &sums, const OperandRows &rows, const TileRows &columns, int64_t count,
                       Precision precision, llvm::function_ref<Value(int64_t)> chunkOf) {
  auto rowTiles = size_t(rows.rowTiles), columnTiles = sums.size() / rowTiles;
  Tiles chain = outside ? zeros(sums.size()) : sums;
  for (int64_t step = 0; step < count; ++step) {
    if (outside && step && step % kStepsOfChain == 0) {
      sums = sumOf(sums, chain);
      chain = zeros(sums.size());
    }
    Value chunk = chunkOf(step);
    Operands operands = operandsOf(rows, columns.tile.steps(), step, chunk, precision);
    for (size_t n = 0; n < columnTiles; n += 2)
      for (auto [side, column] : llvm::enumerate(columnFragments(columns, int64_t(n / 2), chunk)))
        for (size_t rowTile = 0; rowTile < rowTiles; ++rowTile) {
          Accumulator &sum = chain[rowTile * columnTiles + n + side];
          sum = addProduct(operands[rowTile], column, sum);
        }
  }
  sums = outside ? sumOf(sums, chain) : chain;
}

void MmaSync::addAllSteps(Tiles &sums, const OperandRows &rows, const TileRows &columns, int64_t together,
                          Precision precision) {
  int64_t steps = columns.tile.steps();
  // A second computation (`Once`) is rare, so it is not unrolled.
  int64_t unrolled = std::min(steps, precision == Precision::Once ? 1 : together);
  while (steps % unrolled)
    --unrolled;
  if (unrolled == steps)
    return addSteps(sums, rows, columns, steps, precision, [&](int64_t step) { return b.i32(2 * step); });
  OperandRows read{rows.rows, rows.rowTiles, {}}; // registers cannot be indexed at run time
  sums = gathered(b.loop(b.i32(0), b.i32(2 * steps), 2 * unrolled, flattened(sums), [&](Value first, ValueRange flat) {
    Tiles inside = gathered(flat);
    addSteps(inside, read, columns, unrolled, precision, [&](int64_t step) { return b.add(first, 2 * step); });
    return flattened(inside);
  }));
}

Tiles MmaSync::issueProducts(const Tiles &before, const OperandRows &rows, const TileRows &columns, int64_t together) {
  Tiles sums = before;
  addAllSteps(sums, rows, columns, together, Precision::Full);
  if (!element.isF32())
    return sums;
  // Products of f32 are computed in full, and again if a result is NaN: infinity less its tf32 is NaN. A product of
  // tf32 alone has the infinities and the NaN of f32, so it replaces results that are NaN.
  SmallVector<Value> flat = flattened(sums);
  SmallVector<Value> chosen = b.choose(
      someAreNan(sums), TypeRange(ValueRange(flat)),
      [&] {
        Tiles again = before;
        addAllSteps(again, rows, columns, together, Precision::Once);
        SmallVector<Value> repaired = flattened(again);
        for (auto [number, other] : llvm::zip_equal(repaired, flat))
          number = b.select(b.isNan(other), number, other);
        return repaired;
      },
      [&] { return flat; });
  return gathered(chosen);
}
