// Products in AMX's tiles: a tile of 16 rows × 16 columns of sums, and operands of 16 rows of 64 bytes. A tile of
// queries is 16 packed rows, at their stride, for 16 steps; a tile of keys is 16 steps of a panel of 16 columns. So
// rows and panels are those of the engines of vectors, with zeros up to a whole tile.
//
// Tiles have numbers: the sums are in tiles 0 to 3, 16 rows after 16 rows, rows of the operands in 4 and 5, panels in 6
// and 7. Sources: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on AMX; the order of loads
// and products was measured on an Emerald Rapids core.
#pragma once
#include "passes/Cpu/Engine.h"

namespace skewer {

class AmxTiles {
public:
  /// `product`: the instruction that multiplies, by its intrinsic: "tdpbf16ps".
  explicit AmxTiles(llvm::StringLiteral product) : product(product) {}

  /// Configures all tiles for 16 rows of 64 bytes.
  static void begin(VectorBuilder &);
  static void end(VectorBuilder &);
  /// Returns whether tiles hold the sums and operands of a product. Others, of few rows, are products of vectors.
  static bool fits(const VectorBuilder &, const TileProduct &);
  /// Store the sums of a product that fits, without its scale: of a tile, and of `vectors` vectors, tile after tile
  /// (CpuEngine::multiplyInto and multiplyColumns).
  void multiply(VectorBuilder &, const TileProduct &, const ProductOperand &target) const;
  void multiplyColumns(VectorBuilder &, const TileProduct &, mlir::Value vectors, const ProductOperand &target) const;
  /// Adds a product to sums in memory (WeightEngine::addProduct).
  void add(VectorBuilder &, const AddedProduct &) const;

private:
  /// Tiles of sums: `rows` tiles of rows × `panels` panels.
  struct Tiles {
    int64_t rows, panels;
  };
  /// The operands of some steps: where the rows of a step and the panels of a step begin.
  struct Operands {
    ProductOperand rows, panels;
    int64_t lanes;
  };

  using BeforeProduct = llvm::function_ref<void(int64_t which)>;

  static void loadOperand(VectorBuilder &, const Operands &, mlir::Value step, bool ofRows, int64_t which);
  static void loadOperands(VectorBuilder &, const Tiles &, const Operands &, mlir::Value step);
  void addStep(VectorBuilder &, const Tiles &, BeforeProduct, const Operands *next, mlir::Value nextStep) const;
  void addSteps(VectorBuilder &, const Tiles &, const Operands &, mlir::Value first, mlir::Value end) const;
  static void forSums(const Tiles &tiles, llvm::function_ref<void(int64_t which, int64_t r, int64_t v)> body) {
    for (int64_t r = 0; r < tiles.rows; ++r)
      for (int64_t v = 0; v < tiles.panels; ++v)
        body(r * tiles.panels + v, r, v);
  }

  llvm::StringLiteral product;
};

} // namespace skewer
