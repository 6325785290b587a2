// Rows and columns of the numbers that a thread holds.
#include "passes/Gpu/ScoreLayout.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer::gpu;

SmallVector<Value> skewer::gpu::flattened(ArrayRef<Accumulator> sums) {
  SmallVector<Value> flat;
  for (const Accumulator &sum : sums)
    flat.append(sum.begin(), sum.end());
  return flat;
}

Tiles skewer::gpu::gathered(ValueRange flat) {
  Tiles sums;
  for (size_t k = 0; k < flat.size(); k += 4)
    sums.push_back({flat[k], flat[k + 1], flat[k + 2], flat[k + 3]});
  return sums;
}

ThreadPlace skewer::gpu::threadPlace(GpuBuilder &b) {
  ThreadPlace at;
  at.thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  at.warp = b.shiftRight(at.thread, 5);
  at.lane = b.bitAnd(at.thread, 31);
  at.group = b.shiftRight(at.lane, 2);
  at.inGroup = b.bitAnd(at.lane, 3);
  return at;
}

Tiles ScoreLayout::zeros() const {
  Value zero = b.f32(0);
  return Tiles(tiles(), {zero, zero, zero, zero});
}

std::vector<HeldNumber> ScoreLayout::numbers() const {
  std::vector<HeldNumber> all;
  for (size_t tile = 0; tile < tiles(); ++tile)
    for (size_t part = 0; part < 4; ++part)
      all.push_back({tile, part, rowOf(tile, part), int64_t(8 * (tile % columnTiles()) + part % 2)});
  return all;
}

std::vector<HeldNumber> ScoreLayout::numbersOfRow(size_t row) const {
  std::vector<HeldNumber> some;
  for (const HeldNumber &number : numbers())
    if (number.row == row)
      some.push_back(number);
  return some;
}

Value ScoreLayout::warpRow() const {
  // A tile has 16 rows; a warp has one tile or two.
  return b.shiftLeft(at.warp, tilesOfRows == 1 ? 4 : 5);
}

Value ScoreLayout::acrossRow(Value number, llvm::function_ref<Value(Value, Value)> combine) const {
  for (int64_t distance : {1, 2})
    number = combine(number, shuffle(b, number, distance));
  return number;
}

Value ScoreLayout::isFirstOfRow() const { return b.equal(at.inGroup, b.i32(0)); }

//===- Skews ---------------------------------------------------------------------===//

// For key n, query g needs column n + 15 - g of a band, and query g + 8 needs column n + 7 - g. So with s = 7 - g, both
// rows are shifted by s columns, and row g by one more tile of 8 columns. A lane holds columns 2t and 2t + 1 of a tile;
// if s is odd, the two change places.
namespace {

struct Skew {
  Value shift, odd; // s; i1
  /// For each of the lane's two columns: whether the number that it gives away is of the other tile, and the lane whose
  /// number it takes.
  std::array<Value, 2> crosses, source;
};

/// Returns the skew; `crosses` and `wanted` (the column that is taken) define its direction.
Skew skewOf(GpuBuilder &b, const ThreadPlace &at, llvm::function_ref<Value(Value held, Value shift)> crosses,
            llvm::function_ref<Value(Value first, Value shift, int64_t k)> wanted) {
  Skew skew;
  skew.shift = b.sub(b.i32(7), at.group);
  skew.odd = b.equal(b.bitAnd(skew.shift, 1), b.i32(1));
  for (int64_t k : {0, 1}) {
    Value first = b.shiftLeft(at.inGroup, 1);
    // the column that this lane gives away as number k
    Value held = b.select(skew.odd, b.add(first, 1 - k), b.add(first, k));
    skew.crosses[size_t(k)] = crosses(held, skew.shift);
    Value taken = b.bitAnd(wanted(first, skew.shift, k), 7);
    skew.source[size_t(k)] = b.add(b.shiftLeft(at.group, 2), b.shiftRight(taken, 1));
  }
  return skew;
}

} // namespace

Tiles skewer::gpu::skewedToKeys(GpuBuilder &b, const ThreadPlace &at, const Tiles &band) {
  // Columns before s are taken from the tile behind.
  Skew skew = skewOf(
      b, at, [&](Value held, Value shift) { return b.less(held, shift); },
      [&](Value first, Value shift, int64_t k) { return b.add(b.add(first, shift), k); });
  Tiles result(band.size() - 2);
  for (size_t column = 0; column < result.size(); ++column)
    for (size_t row : {0u, 1u}) {
      const Accumulator &near = band[column + 1 - row], &far = band[column + 2 - row];
      for (size_t k : {0u, 1u}) {
        Value fromNear = b.select(skew.odd, near[2 * row + 1 - k], near[2 * row + k]);
        Value fromFar = b.select(skew.odd, far[2 * row + 1 - k], far[2 * row + k]);
        result[column][2 * row + k] = shuffleFrom(b, b.select(skew.crosses[k], fromFar, fromNear), skew.source[k]);
      }
    }
  return result;
}

Tiles skewer::gpu::skewedToBand(GpuBuilder &b, const ThreadPlace &at, const Tiles &weights, float noWeight) {
  // Columns beyond the 7th go to the tile behind.
  Skew skew = skewOf(
      b, at, [&](Value held, Value shift) { return b.less(b.i32(7), b.add(held, shift)); },
      [&](Value first, Value shift, int64_t k) { return b.sub(b.add(first, k), shift); });
  Value none = b.f32(noWeight);
  auto tiles = int64_t(weights.size());
  Tiles result(size_t(tiles + 2), {none, none, none, none});
  for (int64_t column = 0; column < tiles + 2; ++column)
    for (size_t row : {0u, 1u}) {
      int64_t place = column - (row == 0 ? 1 : 0);
      if (place < 0 || place > tiles)
        continue; // nothing is moved there
      auto from = [&](int64_t tile, size_t k) {
        if (tile < 0 || tile >= tiles)
          return none;
        const Accumulator &held = weights[size_t(tile)];
        return b.select(skew.odd, held[2 * row + 1 - k], held[2 * row + k]);
      };
      for (size_t k : {0u, 1u})
        result[size_t(column)][2 * row + k] =
            shuffleFrom(b, b.select(skew.crosses[k], from(place - 1, k), from(place, k)), skew.source[k]);
    }
  return result;
}
