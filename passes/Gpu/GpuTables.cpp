// Terms in which a query or a key meets rows of a table by key - query: a band that is skewed in registers, or on its
// way through shared memory.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

std::vector<Accumulator> GpuKernel::skewedBand(const BandPlan &part, Value copy) {
  // Column c of the warp's band is the row of the window for key - query of its last query and the c-th key less 15:
  // query g needs column n + 15 - g for key n, query g + 8 column n + 7 - g. So with s = 7 - g both are shifted by s
  // columns, and g by one tile of 8 more.
  size_t tiles = size_t(tile.keys / 8);
  Value firstRow = b.sub(b.i32(tile.rows - 16), b.shiftLeft(warp, 4));
  Value zero = b.f32(0);
  std::vector<Accumulator> band(tiles + 2, {zero, zero, zero, zero});
  band = productsOf(queries[part.queries], {part.window, copy, firstRow}, band);

  // A lane holds columns 2t and 2t + 1 of a tile. Where s is odd the two change places; columns before s are wanted
  // from the tile behind.
  Value shift = b.sub(b.i32(7), group);
  Value odd = b.compare(arith::CmpIPredicate::eq, b.bitAnd(shift, 1), b.i32(1));
  std::array<Value, 2> behind, source;
  for (int64_t k : {0, 1}) {
    Value first = b.shiftLeft(inGroup, 1);
    Value held = b.select(odd, b.add(first, 1 - k), b.add(first, k)); // what this lane gives away as number k
    behind[size_t(k)] = b.less(held, shift);
    Value wanted = b.bitAnd(b.add(b.add(first, shift), k), 7); // what it takes
    source[size_t(k)] = b.add(b.shiftLeft(group, 2), b.shiftRight(wanted, 1));
  }
  std::vector<Accumulator> result(tiles);
  for (size_t column = 0; column < tiles; ++column)
    for (size_t row : {0u, 1u}) {
      const Accumulator &near = band[column + 1 - row], &far = band[column + 2 - row];
      for (size_t k : {0u, 1u}) {
        Value fromNear = b.select(odd, near[2 * row + 1 - k], near[2 * row + k]);
        Value fromFar = b.select(odd, far[2 * row + 1 - k], far[2 * row + k]);
        result[column][2 * row + k] = b.shuffleFrom(b.select(behind[k], fromFar, fromNear), source[k]);
      }
    }
  return result;
}

void GpuKernel::addKeyBand(const KeyBandPlan &part, Value copy, std::vector<Accumulator> &scores) {
  // Window row c is for key - query = c - (rows - 1), counted in the tile: 16 keys from 16 × m on meet rows 16 × m …
  // 16 × m + rows + 15. Column c of key j (both counted from 16 × m) is query j - c + rows - 1.
  int64_t warps = tile.rows / 16, groups = tile.keys / 16;
  Value zero = b.f32(0), scale = b.f32(part.band.term->scale * kLog2E);
  const SharedTile &window = part.band.window;
  b.loop(warp, b.i32(groups), warps, {}, [&](Value number, ValueRange) {
    Value firstKey = b.shiftLeft(number, 4);
    for (int64_t pair = 0; pair < (tile.rows + 16) / 16; ++pair) {
      std::vector<Accumulator> sums(2, {zero, zero, zero, zero});
      sums = sumOfTileProducts(sums, {part.keys, copy, firstKey}, {}, {window, copy, b.add(firstKey, 16 * pair)},
                               stepsTogether());
      for (size_t side : {0u, 1u})
        for (size_t k = 0; k < 4; ++k) {
          Value key = b.add(b.add(firstKey, group), int64_t(8 * (k / 2)));
          Value column = b.add(b.shiftLeft(inGroup, 1), 16 * pair + int64_t(8 * side + k % 2));
          Value offset = b.add(b.shiftLeft(b.add(b.mul(key, part.stride), column), 2), part.logits);
          b.store(b.mulf(sums[side][k], scale), b.sharedAt(offset));
        }
    }
    return SmallVector<Value>();
  });
  b.barrier();
  // The next tile's logits are written behind the barrier that its step begins with.
  for (size_t column = 0; column < scores.size(); ++column)
    for (size_t k = 0; k < 4; ++k) {
      Value key = b.add(b.shiftLeft(inGroup, 1), int64_t(8 * column + k % 2));
      Value query = b.add(b.add(b.shiftLeft(warp, 4), group), int64_t(8 * (k / 2)));
      Value place = b.sub(b.add(b.bitAnd(key, 15), tile.rows - 1), query);
      Value offset = b.add(b.shiftLeft(b.add(b.mul(key, part.stride), place), 2), part.logits);
      scores[column][k] = b.addf(scores[column][k], b.load(b.sharedAt(offset), b.getF32Type()));
    }
}
