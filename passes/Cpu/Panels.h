// What every product of this compiler is made of: panels of vectors, and the register tile that runs over them.
//
// A panel holds, for each step of the depth, `lanes` columns side by side; panels lie `panelStride` floats apart. Rows
// lie `rowStride` floats apart, their steps side by side.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Columns that are brought into panels: source[sourceBase + row*rowStride + step*depthStride] × factor for `rows`
/// columns and `depth` steps. With `reversed`, columns count from the last row of the source down. Of `length` columns
/// those behind the last are 0, but panels that have none of the others are left as they are.
struct PanelSource {
  mlir::Value memory, base;
  int64_t rowStride, depthStride, rows, depth;
  double factor = 1;
  bool reversed = false;
  mlir::Value length = {}; // so many of the columns are there; null: all
};
/// Where panels lie: panel `panel` begins at base + panel*stride, its first step is number `firstStep`.
struct PanelTarget {
  mlir::Value memory, base;
  int64_t stride, firstStep = 0;
  bool accumulate = false; // add to what is there
  int64_t lineStride = 0;  // of one step after the other; 0: the lanes
};
/// Fills one panel; lanes beyond the last column are 0.
void packPanel(VectorBuilder &, const PanelSource &, const PanelTarget &, mlir::Value panel);

/// One side of a product: floats of `memory` from `base` on, rows or panels `stride` apart.
struct ProductOperand {
  mlir::Value memory, base;
  int64_t stride;
};
/// Instructions beside those of the product, given the first of the steps that one turn of the depth loop does.
using BesideSteps = std::function<void(mlir::Value step)>;

/// How the steps of a product are summed up: `chunk` of them by themselves (see `chunkOf`). With `compensated`, what rounding takes
/// from each sum of chunks is added to the next chunk. The sum so far stands in registers beside the chunk's, of parts
/// of the tile one after the other, where there are 32 of them. With `wholeTile` a step's operands are made for all of
/// the tile (table rows that are added to keys would be added once a part: 1.14 of the time of two such layers, Zen 4),
/// and all tiles of a panel pass over a chunk before the next one is begun, their sums so far in memory: what they read
/// stays in L1.
struct Summation {
  int64_t chunk;
  bool compensated = false;
  bool wholeTile = false;
};

/// Rows and vectors of a register tile.
struct TilePart {
  int64_t row, rows, vector, vectors;
};
/// `start` + the products of `steps` steps from `first` on, for part of a tile.
using ProductsOfSteps = std::function<llvm::SmallVector<mlir::Value>(const TilePart &, mlir::Value first, int64_t steps,
                                                                     llvm::SmallVector<mlir::Value> start)>;

/// Steps of the depth in one turn of the loop.
constexpr int64_t kStepsOfTurn = 4;

/// accumulators[r][v] + Σ_step rows[r][step] · panels[v][step], for `tileRows` rows and `vectors` panels.
llvm::SmallVector<mlir::Value> multiply(VectorBuilder &, int64_t tileRows, int64_t vectors, int64_t depth,
                                        llvm::SmallVector<mlir::Value> accumulators, const ProductOperand &rows,
                                        const ProductOperand &panels, const BesideSteps &beside = {});
/// The same of a part of a tile, whose operands are given as the tile's, for `steps` steps from `first` on.
llvm::SmallVector<mlir::Value> multiplyPart(VectorBuilder &, const TilePart &, int64_t steps,
                                            llvm::SmallVector<mlir::Value> start, const ProductOperand &rows,
                                            const ProductOperand &panels, mlir::Value first);
/// The sums of what `products` gives for all steps; meanwhile they are held at held[places[…]].
llvm::SmallVector<mlir::Value> sumInChunks(VectorBuilder &, const TilePart &tile, int64_t depth, const Summation &,
                                           mlir::Value held, llvm::ArrayRef<mlir::Value> places,
                                           const ProductsOfSteps &products);
/// The sums of what `products` gives for all steps, in chains of no more than `kChain` of them that are equally long;
/// meanwhile they are held as above.
llvm::SmallVector<mlir::Value> multiplyInChains(VectorBuilder &, const TilePart &tile, int64_t depth, mlir::Value held,
                                                llvm::ArrayRef<mlir::Value> places, const ProductsOfSteps &products);
/// Products of all steps from zero, stored at target[at + r*stride + v*lanes].
void multiplyInto(VectorBuilder &, int64_t tileRows, int64_t vectors, int64_t depth, const Summation &,
                  const ProductOperand &rows, const ProductOperand &panels, const ProductOperand &target);

} // namespace skewer
