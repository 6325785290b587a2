// The building blocks of every product on a processor: panels of vectors, and the register tile that runs over them.
// CpuKernel, its strategies and matrix products (MatmulStage.cpp) use them.
//
// A panel holds `lanes` columns side by side for each step of the depth; panels lie `panelStride` floats apart. Rows
// lie `rowStride` floats apart, with their steps side by side.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// The columns that are packed into panels: memory[base + row*rowStride + step*depthStride] × factor for `rows` columns
/// and `depth` steps. With `reversed`, columns count from the last row of the source down. With `length`, columns
/// behind it are 0, and panels with none of its columns are not written.
struct PanelSource {
  mlir::Value memory, base;
  int64_t rowStride, depthStride, rows, depth;
  double factor = 1;
  bool reversed = false;
  mlir::Value length = {}; // how many of the columns exist; null: all
};
/// The place of panels: panel `panel` begins at base + panel*stride, and packing begins at its step `firstStep`.
struct PanelTarget {
  mlir::Value memory, base;
  int64_t stride, firstStep = 0;
  bool accumulate = false; // add to what is there
  int64_t lineStride = 0;  // floats from a step to the next one; 0: the lanes
};
/// Fills one panel; lanes beyond the last column are 0.
void packPanel(VectorBuilder &, const PanelSource &, const PanelTarget &, mlir::Value panel);

/// One side of a product: floats of `memory` from `base` on, rows or panels `stride` apart.
struct ProductOperand {
  mlir::Value memory, base;
  int64_t stride;
};
/// Emits instructions besides those of the product in each turn of the depth loop, given the first step of the turn.
using BesideSteps = std::function<void(mlir::Value step)>;

/// How the steps of a product are summed up: each `chunk` of steps has a sum of its own (see `chunkOf`), and these sums
/// are added up. With `compensated`, the rounding error of each addition is added to the next chunk. With 32 registers,
/// the sum so far and the sum of the chunk are both in registers, for one part of the tile after the other. With
/// `wholeTile`, the operands of a step are made for the whole tile: table rows that are added to keys would be added
/// once for each part, which took 1.14 of the time of two such layers (Zen 4). All tiles of a panel then compute a
/// chunk before the next chunk begins, with their sums so far in memory, so that what they read stays in L1.
struct Summation {
  int64_t chunk;
  bool compensated = false;
  bool wholeTile = false;
};

/// A part of a register tile: `rows` rows from `row` on × `vectors` vectors from `vector` on.
struct TilePart {
  int64_t row, rows, vector, vectors;
};
/// Returns `start` + the products of `steps` steps from `first` on, for a part of a tile.
using ProductsOfSteps = std::function<llvm::SmallVector<mlir::Value>(const TilePart &, mlir::Value first, int64_t steps,
                                                                     llvm::SmallVector<mlir::Value> start)>;

/// Steps of the depth in one turn of the loop.
constexpr int64_t kStepsOfTurn = 4;

/// Returns accumulators[r][v] + Σ_step rows[r][step] · panels[v][step], for `tileRows` rows and `vectors` panels.
llvm::SmallVector<mlir::Value> multiply(VectorBuilder &, int64_t tileRows, int64_t vectors, int64_t depth,
                                        llvm::SmallVector<mlir::Value> accumulators, const ProductOperand &rows,
                                        const ProductOperand &panels, const BesideSteps &beside = {});
/// Returns the same for a part of a tile, for `steps` steps from `first` on; the operands are those of the whole tile.
llvm::SmallVector<mlir::Value> multiplyPart(VectorBuilder &, const TilePart &, int64_t steps,
                                            llvm::SmallVector<mlir::Value> start, const ProductOperand &rows,
                                            const ProductOperand &panels, mlir::Value first);
/// Returns the sums of what `products` returns, over all steps. Intermediate sums are stored at held[places[…]].
llvm::SmallVector<mlir::Value> sumInChunks(VectorBuilder &, const TilePart &tile, int64_t depth, const Summation &,
                                           mlir::Value held, llvm::ArrayRef<mlir::Value> places,
                                           const ProductsOfSteps &products);
/// Returns the same sums, computed in chains of equal length, each of at most `kChain` steps. Intermediate sums are
/// stored as above.
llvm::SmallVector<mlir::Value> multiplyInChains(VectorBuilder &, const TilePart &tile, int64_t depth, mlir::Value held,
                                                llvm::ArrayRef<mlir::Value> places, const ProductsOfSteps &products);
/// Stores the products of all steps, summed up from zero, at target[base + r*stride + v*lanes].
void multiplyInto(VectorBuilder &, int64_t tileRows, int64_t vectors, int64_t depth, const Summation &,
                  const ProductOperand &rows, const ProductOperand &panels, const ProductOperand &target);

} // namespace skewer
