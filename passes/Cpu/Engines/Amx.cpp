// The engine for bf16 on AMX: a tile of 16 rows × 16 columns of sums, and operands of 16 rows of 64 bytes. A packed row
// has its pairs side by side and so has a tile of 16 rows, at the stride of rows; a panel of 16 columns is a tile for
// each 16 steps. So rows and panels are those of all engines for bf16, with zeros up to a whole tile.
//
// Tiles have numbers: the sums are in tiles 0 to 3, 16 rows after 16 rows, rows of the operands in 4 and 5, panels in 6
// and 7. Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on AMX.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Cpu/Engines/Bf16Pairs.h"

using namespace mlir;
using namespace skewer;

namespace {
class Amx : public Bf16Pairs {
public:
  Amx() : Bf16Pairs("amx") {}
  void begin(VectorBuilder &) const override;
  void end(VectorBuilder &b) const override { instruction(b, "tilerelease", {}); }
  SmallVector<Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const override;

private:
  static constexpr int64_t kRows = 16, kRowBytes = 64, kSteps = 16, kFloatBytes = 4; // of a tile
  static constexpr int64_t kRowTile = 4, kPanelTile = 6, kMostTiles = 2;             // of rows and of panels

  static bool fits(const VectorBuilder &, const TileProduct &, const HeldSums &);
  static void instruction(VectorBuilder &b, StringRef name, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(b.builder, b.builder.getStringAttr("llvm.x86." + name.str()), operands);
  }
  static Value number(VectorBuilder &b, int64_t value, unsigned bits) {
    Type type = b.builder.getIntegerType(bits);
    return LLVM::ConstantOp::create(b.builder, type, b.builder.getIntegerAttr(type, value));
  }
  static Value tile(VectorBuilder &b, int64_t value) { return number(b, value, 8); }
  /// Returns the address of an element of `bytes` bytes.
  static Value addressOf(VectorBuilder &b, Value memory, Value at, int64_t bytes) {
    Value start = memref::ExtractAlignedPointerAsIndexOp::create(b.builder, memory);
    Value word = arith::IndexCastOp::create(b.builder, b.builder.getI64Type(), b.add(start, b.mul(at, bytes)));
    return LLVM::IntToPtrOp::create(b.builder, LLVM::LLVMPointerType::get(b.builder.getContext()), word);
  }
  /// Emits an instruction that moves a tile whose rows are `stride` floats apart in memory.
  static void move(VectorBuilder &b, StringRef name, int64_t which, Value memory, Value at, int64_t stride) {
    instruction(b, name, {tile(b, which), addressOf(b, memory, at, kFloatBytes), number(b, stride * kFloatBytes, 64)});
  }
};

/// Configures all tiles for 16 rows of 64 bytes.
void Amx::begin(VectorBuilder &b) const {
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

/// Returns whether tiles hold the sums and operands of a product. Others, of few rows, are products of vectors.
bool Amx::fits(const VectorBuilder &b, const TileProduct &product, const HeldSums &held) {
  const TilePart &tile = product.tile;
  return b.lanes == kSteps && tile.rows % kRows == 0 && tile.rows / kRows <= kMostTiles && tile.vectors <= kMostTiles &&
         product.steps % kSteps == 0 && held.stride && !product.beside && !product.summation.compensated;
}

/// Each instruction adds the products of 32 elements to the sums, so a chain is shorter than all that a summation asks
/// for, except for compensated ones.
SmallVector<Value> Amx::multiply(VectorBuilder &b, const TileProduct &product, const HeldSums &held) const {
  if (!fits(b, product, held))
    return VectorEngine::multiply(b, product, held);
  const ProductOperand &rows = product.rows, &panels = product.panels;
  int64_t rowTiles = product.tile.rows / kRows, vectors = product.tile.vectors;
  auto forSums = [&](function_ref<void(int64_t which, int64_t r, int64_t v)> body) {
    for (int64_t r = 0; r < rowTiles; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        body(r * vectors + v, r, v);
  };
  Value firstRow = b.add(rows.base, product.tile.row * rows.stride);
  Value firstPanel = b.add(panels.base, product.tile.vector * panels.stride);
  forSums([&](int64_t which, int64_t, int64_t) { instruction(b, "tilezero", {tile(b, which)}); });
  b.loop(b.index(0), b.index(product.steps), kSteps, [&](Value step) {
    for (int64_t r = 0; r < rowTiles; ++r)
      move(b, "tileloadd64", kRowTile + r, rows.memory, b.add(b.add(firstRow, step), r * kRows * rows.stride),
           rows.stride);
    for (int64_t v = 0; v < vectors; ++v)
      move(b, "tileloadd64", kPanelTile + v, panels.memory,
           b.add(b.add(firstPanel, b.mul(step, b.lanes)), v * panels.stride), b.lanes);
    forSums([&](int64_t which, int64_t r, int64_t v) {
      instruction(b, "tdpbf16ps", {tile(b, which), tile(b, kRowTile + r), tile(b, kPanelTile + v)});
    });
  });
  forSums([&](int64_t which, int64_t r, int64_t v) {
    move(b, "tilestored64", which, held.memory, held.places[r * kRows * vectors + v], held.stride);
  });
  SmallVector<Value> sums;
  for (Value place : held.places)
    sums.push_back(b.load(held.memory, place));
  for (Value &sum : sums)
    if (product.scale != 1)
      sum = b.mulf(sum, b.constant(product.scale));
  return sums;
}
} // namespace

const CpuEngine &amxTiles() {
  static const Amx engine;
  return engine;
}
