// Sums up the steps of a register tile in chunks and chains (RegisterTile.h).
#include "passes/Cpu/RegisterTile.h"
#include "passes/Analysis/Summation.h"
#include "passes/Emit/VectorMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

static bool hasManyRegisters(const VectorBuilder &b) { return b.lanes >= 16; } // 32; else 16

/// Divides a tile into parts so small that their sums stay in registers together with their accumulators.
static SmallVector<TilePart> partsOf(const VectorBuilder &b, const TilePart &tile) {
  int64_t kept = hasManyRegisters(b) ? 12 : 6;
  int64_t count = llvm::divideCeil(tile.rows * tile.vectors, kept);
  bool byVectors = tile.vectors % count == 0 || (tile.rows % count != 0 && tile.vectors > tile.rows);
  int64_t extent = byVectors ? tile.vectors : tile.rows, size = llvm::divideCeil(extent, count);
  SmallVector<TilePart> parts;
  for (int64_t first = 0; first < extent; first += size) {
    int64_t own = std::min(size, extent - first);
    parts.push_back(byVectors ? TilePart{0, tile.rows, first, own} : TilePart{first, own, 0, tile.vectors});
  }
  return parts;
}

/// Returns the sum of chunks by Kahan's method: the next chunk begins with what the last addition rounded away (Knuth,
/// The Art of Computer Programming, volume 2, section 4.2.2). If a chunk is larger than the sum so far, that amount is
/// known only up to the rounding of the chunk.
static SmallVector<Value> sumCompensated(VectorBuilder &b, int64_t depth, int64_t chunk, const TilePart &part,
                                         const ProductsOfSteps &products) {
  size_t count = part.rows * part.vectors;
  SmallVector<Value> none(count, b.constant(0));
  // The rounding error of an infinite sum is NaN or infinite too. Any finite number may replace it, since the sum stays
  // infinite.
  Value most = b.constant(0x1p104f), least = b.constant(-0x1p104f);
  auto add = [&](Value first, int64_t steps, ValueRange before) {
    SmallVector<Value> sums(before.take_front(count)), lost(before.drop_front(count));
    SmallVector<Value> more = products(part, first, steps, lost);
    for (size_t n = 0; n < count; ++n) {
      Value sum = b.addf(sums[n], more[n]);
      lost[n] = smaller(b, larger(b, b.subf(more[n], b.subf(sum, sums[n])), least), most);
      sums[n] = sum;
    }
    sums.append(lost);
    return sums;
  };
  SmallVector<Value> carried = products(part, b.index(0), chunk, none);
  carried.append(none);
  int64_t whole = depth / chunk * chunk;
  carried = b.loop(b.index(chunk), b.index(whole), chunk, carried,
                   [&](Value first, ValueRange before) { return add(first, chunk, before); });
  if (whole < depth)
    carried = add(b.index(whole), depth - whole, carried);
  carried.truncate(count);
  return carried;
}

/// Returns the sum of chunks, each of which has a sum of its own. Both sums stay in registers. For a whole tile, one of
/// them would be stored and loaded at every chunk: T5 takes 0.95 of that time, Conformer with its band 0.93 (Zen 4);
/// with 16 registers, and so smaller parts, 1.01 and 0.99.
static SmallVector<Value> sumOfChunks(VectorBuilder &b, int64_t depth, int64_t chunk, const TilePart &part,
                                      const ProductsOfSteps &products) {
  SmallVector<Value> none(part.rows * part.vectors, b.constant(0));
  auto add = [&](Value first, int64_t steps, ValueRange before) {
    SmallVector<Value> sums = products(part, first, steps, none);
    for (auto [sum, sofar] : llvm::zip(sums, before))
      sum = b.addf(sofar, sum);
    return sums;
  };
  SmallVector<Value> sums = products(part, b.index(0), chunk, none);
  int64_t whole = depth / chunk * chunk;
  sums = b.loop(b.index(chunk), b.index(whole), chunk, sums,
                [&](Value first, ValueRange before) { return add(first, chunk, before); });
  return whole < depth ? add(b.index(whole), depth - whole, sums) : sums;
}

SmallVector<Value> skewer::sumInChunks(VectorBuilder &b, const TilePart &tile, int64_t depth,
                                       const Summation &summation, Value held, ArrayRef<Value> places,
                                       const ProductsOfSteps &products) {
  int64_t chunk = summation.compensated ? summation.chunk : chunkOf(summation.chunk, depth);
  SmallVector<Value> none(tile.rows * tile.vectors, b.constant(0));
  if (depth <= std::min(chunk, kChain))
    return products(tile, b.index(0), depth, none);
  if (chunk >= kChain) // so rare that holding the sums of a whole tile in memory costs nothing
    return multiplyInChains(b, tile, depth, held, places, products);
  auto placeOf = [&](const TilePart &part, int64_t r, int64_t v) {
    return places[(part.row + r) * tile.vectors + part.vector + v];
  };
  auto store = [&](const TilePart &part, ArrayRef<Value> sums) {
    for (int64_t r = 0; r < part.rows; ++r)
      for (int64_t v = 0; v < part.vectors; ++v)
        b.store(sums[r * part.vectors + v], held, placeOf(part, r, v));
  };
  if (!summation.compensated && !hasManyRegisters(b)) {
    SmallVector<Value> sums = products(tile, b.index(0), chunk, none);
    for (int64_t first = chunk; first < depth; first += chunk) {
      store(tile, sums);
      sums = products(tile, b.index(first), std::min(chunk, depth - first), none);
      for (auto [sum, place] : llvm::zip(sums, places))
        sum = b.addf(b.load(held, place), sum);
    }
    return sums;
  }
  SmallVector<Value> sums;
  for (const TilePart &part : partsOf(b, tile))
    store(part, summation.compensated ? sumCompensated(b, depth, chunk, part, products)
                                      : sumOfChunks(b, depth, chunk, part, products));
  for (Value place : places)
    sums.push_back(b.load(held, place));
  return sums;
}

SmallVector<Value> skewer::multiplyInChains(VectorBuilder &b, const TilePart &tile, int64_t depth, Value held,
                                            ArrayRef<Value> places, const ProductsOfSteps &products) {
  SmallVector<Value> none(tile.rows * tile.vectors, b.constant(0));
  if (depth <= kChain)
    return products(tile, b.index(0), depth, none);
  int64_t count = llvm::divideCeil(depth, kChain), chain = llvm::alignTo(llvm::divideCeil(depth, count), kStepsOfTurn);
  int64_t shorter =
      depth - (llvm::divideCeil(depth, chain) - 1) * chain; // the first chain, so that the others form a loop
  SmallVector<Value> sums = products(tile, b.index(0), shorter, none);
  auto addChains = [&](Value from, Value to, ValueRange start) {
    return b.loop(from, to, chain, start, [&](Value first, ValueRange before) {
      for (auto [sum, place] : llvm::zip(before, places))
        b.store(sum, held, place);
      SmallVector<Value> more = products(tile, first, chain, none);
      for (auto [sum, place] : llvm::zip(more, places))
        sum = b.addf(b.load(held, place), sum);
      return more;
    });
  };
  if (count <= kChain)
    return addChains(b.index(shorter), b.index(depth), sums);
  // For up to 2^24 steps: sums of groups, each of as many chains as a chain has steps.
  return b.loop(b.index(shorter), b.index(depth), kChain * chain, sums, [&](Value first, ValueRange before) {
    SmallVector<Value> more = addChains(first, b.minimum(b.add(first, kChain * chain), b.index(depth)), none);
    for (auto [sum, sofar] : llvm::zip(more, before))
      sum = b.addf(sofar, sum);
    return more;
  });
}
