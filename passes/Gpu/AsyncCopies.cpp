// Copies rows into tiles, by chunks of 16 bytes or by elements.
#include "passes/Gpu/AsyncCopies.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/Warp.h"
#include "passes/Gpu/Widening.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

void AsyncCopies::commit() { NVVM::CpAsyncCommitGroupOp::create(b); }

void AsyncCopies::full() {
  NVVM::CpAsyncWaitGroupOp::create(b, stages > 2 ? unsigned(stages - 2) : 0);
  publish();
}

void AsyncCopies::allFull() {
  drain();
  publish();
}

void AsyncCopies::publish() {
  if (users.readAsynchronously)
    fenceBeforeAsyncReads(b);
  meet();
}

void AsyncCopies::empty() { meet(); }

void AsyncCopies::meet() { users.barrier ? barrierOf(b, users.barrier, users.threads) : barrier(b); }

void AsyncCopies::drain() { NVVM::CpAsyncWaitGroupOp::create(b, 0); }

void AsyncCopies::fill(const SharedTile &to, const RowSource &from, RowMap map, Value copy) {
  auto rowOf = [&](Value row) -> std::pair<Value, Value> { // where it begins, and whether it exists
    auto [source, there] = map(row);
    return {b.add(from.placeOf ? from.placeOf(source) : b.mul(b.toI64(source), from.rowStride), from.base), there};
  };
  if (from.aligned)
    fillByChunks(to, from, rowOf, copy);
  else if (from.widened)
    fillByWidening(to, from, rowOf, copy);
  else
    fillByElements(to, from, rowOf, copy);
}

/// Returns the row, and the part of it, that a thread copies with this number of all parts of a tile. Neighbouring
/// numbers write neighbouring addresses, so that they fall into different banks: of a row if it has no panels, else of
/// the rows of a panel.
static std::pair<Value, Value> partOf(GpuBuilder &b, const SharedTile &to, Value number, int64_t bytes) {
  constexpr int64_t kBanks = 128; // bytes that are written at once
  int64_t parts = to.width * to.elementBytes / bytes;
  if (!to.panel)
    return {b.divide(number, parts), b.remainder(number, parts)};
  int64_t together = kBanks / bytes, ofPanel = to.panel / bytes, panels = parts / ofPanel;
  Value group = b.divide(number, together), inside = b.remainder(number, together);
  Value row = b.add(b.mul(b.divide(group, panels), kBanks / to.panel), b.divide(inside, ofPanel));
  return {row, b.add(b.mul(b.remainder(group, panels), ofPanel), b.remainder(inside, ofPanel))};
}

/// Returns the distance of the rows of a swizzled tile that a thread copies, if it always copies the same column of
/// chunks; else 0.
int64_t AsyncCopies::rowsApart(const SharedTile &to) const {
  int64_t chunks = to.width * to.elementBytes / 16;
  return to.panel && users.threads % (128 / to.panel * chunks) == 0 ? users.threads / chunks : 0;
}

void AsyncCopies::fillRun(const SharedTile &to, const RowSource &from, const RowSource &run, Value first, Value isRun,
                          RowMap map, Value copy) {
  // Chunks are permuted alike in rows that are eight apart, so that their places differ by constants.
  int64_t apart = rowsApart(to);
  if (!from.aligned || from.placeOf || !apart || apart % 8 || to.rows % apart)
    return fill(to, from, map, copy);
  b.either(
      isRun, [&] { fillWhole(to, run, first, copy); }, [&] { fill(to, from, map, copy); });
}

/// Fills a tile whose rows all exist: an instruction for each copy, since only constants differ.
void AsyncCopies::fillWhole(const SharedTile &to, const RowSource &from, Value first, Value copy) {
  int64_t inChunk = 16 / to.elementBytes, apart = rowsApart(to);
  auto [row, chunk] = partOf(b, to, at.thread, 16);
  Value column = b.mul(chunk, inChunk), bytes;
  if (to.depth < to.width) {
    bytes = b.select(b.less(column, b.i32(to.depth)), b.i32(16), b.i32(0)); // the others become zeros
    column = b.minimum(column, b.i32(to.depth - inChunk));
  }
  Value place = b.add(b.mul(b.toI64(b.add(first, row)), from.rowStride), b.add(from.base, b.toI64(column)));
  Value source = globalAt(b, from.pointer, place, from.element);
  Value target = shared.at(offsetIn(b, to, copy, row, chunk));
  for (int64_t k = 0; k < to.rows / apart; ++k) {
    Value to16 = LLVM::GEPOp::create(b, target.getType(), b.getI8Type(), target,
                                     ArrayRef<LLVM::GEPArg>{int32_t(k * apart * to.rowBytes())});
    Value from16 = globalAt(b, source, b.i64(k * apart * from.rowStride), from.element);
    NVVM::CpAsyncOp::create(b, to16, from16, 16, NVVM::LoadCacheModifierKind::CG, bytes);
  }
}

void AsyncCopies::fillByChunks(const SharedTile &to, const RowSource &from, RowPlace rowOf, Value copy) {
  // A thread copies 16 bytes at a time; neighbouring threads copy neighbouring chunks.
  int64_t inChunk = 16 / to.elementBytes, chunks = to.width / inChunk, total = to.rows * chunks;
  auto copyAt = [&](Value row, Value chunk) {
    auto [offset, there] = rowOf(row);
    Value inside = there, column = b.mul(chunk, inChunk);
    if (to.depth < to.width) {
      inside = b.both(inside, b.less(column, b.i32(to.depth)));
      column = b.minimum(column, b.i32(to.depth - inChunk));
    }
    Value place = b.add(offset, b.toI64(column));
    Value target = shared.at(offsetIn(b, to, copy, row, chunk));
    Value source = globalAt(b, from.pointer, place, from.element);
    Value bytes = b.select(inside, b.i32(16), b.i32(0)); // the others become zeros
    NVVM::CpAsyncOp::create(b, target, source, 16, NVVM::LoadCacheModifierKind::CG, bytes);
  };
  int64_t threads = users.threads;
  if (int64_t apart = rowsApart(to)) {
    // A thread copies one column of chunks, so that only the row is computed anew. The lane's own number comes through
    // a shuffle: LLVM would hold the sum with each row's constant in a register for all steps, and threads that only
    // copy have few.
    std::pair<Value, Value> place = partOf(b, to, at.thread, 16);
    Value first = shuffleFrom(b, place.first, at.lane), chunk = place.second;
    for (int64_t begin = 0; begin < to.rows; begin += apart) {
      Value row = b.add(first, begin);
      if (begin + apart <= to.rows)
        copyAt(row, chunk);
      else
        b.when(b.less(first, b.i32(to.rows - begin)), [&] { copyAt(row, chunk); });
    }
    return;
  }
  auto copyOne = [&](Value number) {
    auto [row, chunk] = partOf(b, to, number, 16);
    copyAt(row, chunk);
  };
  // If a thread has few copies, their places are computed once for all tiles; many places would take its registers.
  constexpr int64_t kMostPlaces = 8;
  if (total > kMostPlaces * threads) {
    b.loop(at.thread, b.i32(total), threads, {}, [&](Value number, ValueRange) {
      copyOne(number);
      return SmallVector<Value>();
    });
    return;
  }
  for (int64_t begin = 0; begin < total; begin += threads) {
    Value number = b.add(at.thread, begin);
    if (begin + threads <= total)
      copyOne(number);
    else
      b.when(b.less(at.thread, b.i32(total - begin)), [&] { copyOne(number); });
  }
}

void AsyncCopies::fillByWidening(const SharedTile &to, const RowSource &from, RowPlace rowOf, Value copy) {
  // A thread makes 16 bytes of the tile at a time. It requests several parts of rows before it converts the first, so
  // that their latencies overlap; or it converts them behind the products of the step, if that takes few registers.
  constexpr int64_t kRequests = 8, kMostHeld = 8;
  int64_t inChunk = 16 / to.elementBytes, total = to.rows * to.width / inChunk;
  int64_t own = (total + users.threads - 1) / users.threads;
  bool isEven = total % users.threads == 0;
  Type bytes = b.getIntegerType(unsigned(8 * inChunk));
  auto request = [&](Value number, bool all) -> Conversion { // `all`: every thread has one with this number
    auto [row, chunk] = partOf(b, to, all ? number : b.minimum(number, b.i32(total - 1)), 16);
    auto [offset, inside] = rowOf(row);
    Value column = b.mul(chunk, inChunk);
    if (to.depth < to.width) {
      inside = b.both(inside, b.less(column, b.i32(to.depth)));
      column = b.minimum(column, b.i32(to.depth - inChunk));
    }
    Value place = b.add(offset, b.toI64(column));
    Value read = load(b, globalAt(b, from.pointer, place, from.element), bytes);
    Value zero = arith::ConstantIntOp::create(b, bytes, 0);
    // A row that does not exist is zeros, whatever the scale of the row is that is read in its place.
    Value scale = from.scaleAt ? b.select(inside, from.scaleAt(place), b.f32(0)) : Value();
    return {b.select(inside, read, zero),
            scale,
            shared.at(offsetIn(b, to, copy, row, chunk)),
            all ? Value() : b.less(number, b.i32(total)),
            from.element,
            from.byInstruction};
  };
  auto fillSome = [&](Value first, int64_t count, bool all) {
    std::vector<Conversion> parts;
    for (int64_t k = 0; k < count; ++k)
      parts.push_back(request(b.add(first, k * users.threads), all));
    if (b.getInsertionBlock() == holding && int64_t(held.size()) + count <= kMostHeld)
      held.insert(held.end(), parts.begin(), parts.end());
    else
      llvm::for_each(parts, [&](const Conversion &part) { convert(part); });
  };
  if (own <= kRequests)
    return fillSome(at.thread, own, isEven);
  b.loop(at.thread, b.i32(total), kRequests * users.threads, {}, [&](Value first, ValueRange) {
    fillSome(first, kRequests, isEven && own % kRequests == 0);
    return SmallVector<Value>();
  });
}

void AsyncCopies::convert(const Conversion &part) {
  auto put = [&] {
    SmallVector<Value> words = widenedWords(b, part.bytes, part.from, element, part.scale, part.byInstruction);
    Value chunk = LLVM::PoisonOp::create(b, VectorType::get({4}, b.getI32Type()));
    for (auto [place, word] : llvm::enumerate(words))
      chunk = LLVM::InsertElementOp::create(b, chunk, word, b.i32(int64_t(place)));
    LLVM::StoreOp::create(b, chunk, part.target, /*alignment=*/16);
  };
  part.isOwn ? b.when(part.isOwn, put) : put();
}

void AsyncCopies::holdConverted() { holding = b.getInsertionBlock(); }

void AsyncCopies::settle() {
  holding = nullptr;
  for (const Conversion &part : std::exchange(held, {}))
    convert(part);
}

void AsyncCopies::fillByElements(const SharedTile &to, const RowSource &from, RowPlace rowOf, Value copy) {
  // Rows have any length and stride, and are widened or narrowed. A thread writes two neighbouring elements at a time.
  int64_t pairs = to.width / 2, total = to.rows * pairs;
  b.loop(at.thread, b.i32(total), users.threads, {}, [&](Value number, ValueRange) {
    auto [row, pair] = partOf(b, to, number, 2 * to.elementBytes);
    Value column = b.shiftLeft(pair, 1);
    auto [offset, there] = rowOf(row);
    std::array<Value, 2> numbers;
    for (int64_t k : {0, 1}) {
      Value here = b.add(column, k);
      Value inside = b.both(there, b.less(here, b.i32(to.depth)));
      Value place = b.add(offset, b.mul(b.toI64(b.minimum(here, b.i32(to.depth - 1))), from.depthStride));
      Value read = widen(b, loadAt(b, from.pointer, place, from.element));
      if (from.scaleAt)
        read = b.mulf(read, from.scaleAt(place));
      numbers[size_t(k)] = b.select(inside, read, b.f32(0));
    }
    int64_t inChunk = to.panel ? 16 / to.elementBytes : to.width; // elements whose places are neighbours
    Value first = to.panel ? b.divide(column, inChunk) : b.i32(0),
          rest = to.panel ? b.remainder(column, inChunk) : column;
    Value offsetInTile = b.add(offsetIn(b, to, copy, row, first), b.mul(rest, to.elementBytes));
    if (element.isF32())
      for (int64_t k : {0, 1})
        store(b, numbers[size_t(k)], shared.at(b.add(offsetInTile, 4 * k)));
    else
      store(b, pack(b, numbers[0], numbers[1], element), shared.at(offsetInTile));
    return SmallVector<Value>();
  });
}
