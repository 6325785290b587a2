// Emits the loads, products and stores of AMX's tiles (AmxTiles.h).
#include "passes/Cpu/Engines/AmxTiles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace skewer;

namespace {
constexpr int64_t kRows = 16, kRowBytes = 64, kSteps = 16, kFloatBytes = 4; // of a tile
constexpr int64_t kRowTile = 4, kPanelTile = 6, kMostTiles = 2;             // of rows and of panels

void instruction(VectorBuilder &b, StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b.builder, b.builder.getStringAttr("llvm.x86." + name.str()), operands);
}
Value number(VectorBuilder &b, int64_t value, unsigned bits) {
  Type type = b.builder.getIntegerType(bits);
  return LLVM::ConstantOp::create(b.builder, type, b.builder.getIntegerAttr(type, value));
}
Value tile(VectorBuilder &b, int64_t value) { return number(b, value, 8); }
/// Returns the address of an element of `bytes` bytes.
Value addressOf(VectorBuilder &b, Value memory, Value at, int64_t bytes) {
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b.builder, memory);
  Value word = arith::IndexCastOp::create(b.builder, b.builder.getI64Type(), b.add(start, b.mul(at, bytes)));
  return LLVM::IntToPtrOp::create(b.builder, LLVM::LLVMPointerType::get(b.builder.getContext()), word);
}
/// Emits an instruction that moves a tile whose rows are `stride` floats apart in memory.
void move(VectorBuilder &b, StringRef name, int64_t which, Value memory, Value at, int64_t stride) {
  instruction(b, name, {tile(b, which), addressOf(b, memory, at, kFloatBytes), number(b, stride * kFloatBytes, 64)});
}
} // namespace

void AmxTiles::begin(VectorBuilder &b) {
  constexpr int64_t kBytes = 64, kTiles = 8, kRowBytesAt = 16, kRowsAt = 48;
  SmallVector<APInt> bytes(kBytes, APInt(8, 0));
  bytes[0] = 1; // the palette
  for (int64_t which = 0; which < kTiles; ++which) {
    bytes[kRowBytesAt + 2 * which] = kRowBytes;
    bytes[kRowsAt + which] = kRows;
  }
  Type byte = b.builder.getI8Type();
  auto type = VectorType::get({kBytes}, byte);
  Value config = memref::AllocaOp::create(b.builder, MemRefType::get({kBytes}, byte), b.builder.getI64IntegerAttr(64));
  Value values = arith::ConstantOp::create(b.builder, DenseElementsAttr::get(type, bytes));
  vector::StoreOp::create(b.builder, values, config, ValueRange{b.index(0)});
  instruction(b, "ldtilecfg", {addressOf(b, config, b.index(0), 1)});
}

void AmxTiles::end(VectorBuilder &b) { instruction(b, "tilerelease", {}); }

bool AmxTiles::fits(const VectorBuilder &b, const TileProduct &product) {
  const TilePart &tile = product.tile;
  return b.lanes == kSteps && tile.rows % kRows == 0 && tile.rows / kRows <= kMostTiles && tile.vectors <= kMostTiles &&
         product.steps && product.steps % kSteps == 0 && !product.beside && !product.summation.compensated;
}

/// Loads the `which`-th tile of rows, or the `which`-th panel, of 16 steps.
void AmxTiles::loadOperand(VectorBuilder &b, const Operands &operands, Value step, bool ofRows, int64_t which) {
  if (ofRows) {
    const ProductOperand &rows = operands.rows;
    Value at = b.add(b.add(rows.base, step), which * kRows * rows.stride);
    return move(b, "tileloadd64", kRowTile + which, rows.memory, at, rows.stride);
  }
  const ProductOperand &panels = operands.panels;
  Value at = b.add(b.add(panels.base, b.mul(step, operands.lanes)), which * panels.stride);
  // The hint of this load keeps lines out of L1, where sums, weights and tables of a block need the space.
  move(b, "tileloaddt164", kPanelTile + which, panels.memory, at, operands.lanes);
}

void AmxTiles::loadOperands(VectorBuilder &b, const Tiles &tiles, const Operands &operands, Value step) {
  for (int64_t r = 0; r < tiles.rows; ++r)
    loadOperand(b, operands, step, /*ofRows=*/true, r);
  for (int64_t v = 0; v < tiles.panels; ++v)
    loadOperand(b, operands, step, /*ofRows=*/false, v);
}

/// Adds the products of 16 steps, whose operands are loaded, to the tiles of sums. The operands of the next steps are
/// loaded as soon as the last product with those of these steps is issued. `before` emits what comes before the product
/// of a tile: stores of four tiles one after the other would block the queue of stores until the products before end.
void AmxTiles::addStep(VectorBuilder &b, const Tiles &tiles, BeforeProduct before, const Operands *next,
                       Value nextStep) const {
  forSums(tiles, [&](int64_t which, int64_t r, int64_t v) {
    if (before)
      before(which);
    instruction(b, product, {tile(b, which), tile(b, kRowTile + r), tile(b, kPanelTile + v)});
    if (!next)
      return;
    if (v == tiles.panels - 1)
      loadOperand(b, *next, nextStep, /*ofRows=*/true, r);
    if (r == tiles.rows - 1)
      loadOperand(b, *next, nextStep, /*ofRows=*/false, v);
  });
}

/// Adds the products of the steps [first, end), which are whole tiles, to the tiles of sums.
void AmxTiles::addSteps(VectorBuilder &b, const Tiles &tiles, const Operands &operands, Value first, Value end) const {
  loadOperands(b, tiles, operands, first);
  b.loop(b.add(first, kSteps), end, kSteps, [&](Value next) { addStep(b, tiles, {}, &operands, next); });
  addStep(b, tiles, {}, nullptr, {});
}

/// Stores the sums of a product in tiles. Each instruction adds the products of 16 steps to the sums, so a chain is
/// shorter than all that a summation asks for, except for compensated ones.
void AmxTiles::multiply(VectorBuilder &b, const TileProduct &product, const ProductOperand &target) const {
  const TilePart &part = product.tile;
  Tiles tiles{part.rows / kRows, part.vectors};
  Operands operands{product.rows, product.panels, b.lanes};
  operands.rows.base = b.add(product.rows.base, part.row * product.rows.stride);
  operands.panels.base = b.add(product.panels.base, part.vector * product.panels.stride);
  forSums(tiles, [&](int64_t which, int64_t, int64_t) { instruction(b, "tilezero", {tile(b, which)}); });
  addSteps(b, tiles, operands, b.index(0), b.index(product.steps));
  forSums(tiles, [&](int64_t which, int64_t r, int64_t v) {
    move(b, "tilestored64", which, target.memory, b.add(target.base, r * kRows * target.stride + v * b.lanes),
         target.stride);
  });
}

/// Goes through the columns of a product a pair of panels at a time. While the last steps of a pair are multiplied, the
/// first operands of the next one are loaded; and each tile of a pair is stored right before the next pair begins to
/// use it. On an Emerald Rapids core, a product takes 16 cycles in this way, instead of 18 to 22.
void AmxTiles::multiplyColumns(VectorBuilder &b, const TileProduct &product, Value vectors,
                               const ProductOperand &target) const {
  int64_t together = product.tile.vectors;
  Tiles tiles{product.tile.rows / kRows, together};
  Value last = b.mul(b.divide(b.add(vectors, -1), together), together), zero = b.index(0);
  auto operandsAt = [&](Value vector) {
    Operands operands{product.rows, product.panels, b.lanes};
    operands.panels.base = b.add(product.panels.base, b.mul(vector, product.panels.stride));
    return operands;
  };
  auto store = [&](int64_t which, Value vector) {
    int64_t r = which / together, v = which % together;
    Value at = b.add(b.add(target.base, b.mul(vector, b.lanes)), r * kRows * target.stride + v * b.lanes);
    move(b, "tilestored64", which, target.memory, at, target.stride);
  };
  auto multiplyPair = [&](Value vector, BeforeProduct begin) {
    Operands own = operandsAt(vector), next = operandsAt(b.minimum(b.add(vector, together), last));
    if (product.steps == kSteps)
      return addStep(b, tiles, begin, &next, zero);
    addStep(b, tiles, begin, &own, b.index(kSteps));
    b.loop(b.index(2 * kSteps), b.index(product.steps), kSteps, [&](Value step) { addStep(b, tiles, {}, &own, step); });
    addStep(b, tiles, {}, &next, zero);
  };
  auto clear = [&](int64_t which) { instruction(b, "tilezero", {tile(b, which)}); };
  b.when(b.less(zero, vectors), [&] {
    loadOperands(b, tiles, operandsAt(zero), zero);
    multiplyPair(zero, clear);
    b.loop(b.index(together), vectors, together, [&](Value vector) {
      multiplyPair(vector, [&](int64_t which) {
        store(which, b.add(vector, -together));
        clear(which);
      });
    });
    forSums(tiles, [&](int64_t which, int64_t, int64_t) { store(which, last); });
  });
}

/// Goes through the width of the values a pair of panels at a time, with the loads and stores of multiplyColumns. The
/// sums of a pair are loaded right after those of the pair before are stored.
void AmxTiles::add(VectorBuilder &b, const AddedProduct &product) const {
  const ProductOperand &target = product.target;
  auto tilesAt = [&](int64_t v) { return Tiles{product.rows / kRows, std::min(kMostTiles, product.vectors - v)}; };
  auto operandsAt = [&](int64_t v) {
    Operands operands{product.weights, product.values, b.lanes};
    operands.panels.base = b.add(product.values.base, v * product.values.stride);
    return operands;
  };
  auto moveSum = [&](StringRef name, int64_t v, int64_t which) {
    int64_t panels = tilesAt(v).panels, r = which / panels, panel = which % panels;
    Value at = b.add(target.base, r * kRows * target.stride + (v + panel) * b.lanes);
    move(b, name, which, target.memory, at, target.stride);
  };
  bool follows = false; // the pair before has loaded the first operands of this one, and is not stored yet
  for (int64_t v = 0; v < product.vectors; v += kMostTiles) {
    Tiles tiles = tilesAt(v);
    bool isFollowed = v + kMostTiles < product.vectors && tilesAt(v + kMostTiles).panels == tiles.panels;
    // If no pair follows, the operands of the first step are loaded once more.
    Operands own = operandsAt(v), later = isFollowed ? operandsAt(v + kMostTiles) : own;
    auto addNext = [&](Value step, BeforeProduct begin) {
      Value next = b.add(step, kSteps), isOwn = b.less(next, product.end);
      Operands operands = own;
      operands.panels.base = b.select(isOwn, own.panels.base, later.panels.base);
      addStep(b, tiles, begin, &operands, b.select(isOwn, next, product.first));
    };
    if (!follows)
      loadOperands(b, tiles, own, product.first);
    addNext(product.first, [&](int64_t which) {
      if (follows)
        moveSum("tilestored64", v - kMostTiles, which);
      moveSum("tileloadd64", v, which);
    });
    b.loop(b.add(product.first, kSteps), product.end, kSteps, [&](Value step) { addNext(step, {}); });
    if (!isFollowed)
      forSums(tiles, [&](int64_t which, int64_t, int64_t) { moveSum("tilestored64", v, which); });
    follows = isFollowed;
  }
}
