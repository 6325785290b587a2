// The sums of a register tile: how the steps of a product are divided into chunks and chains, each with a sum of its
// own. Engines (Engine.h) and strategies that multiply in their own way use them.
#pragma once
#include "passes/Analysis/Summation.h"
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// The order in which the steps of a product are summed up: each `chunk` of steps has a sum of its own (see `chunkOf`),
/// and these sums are added up. With `compensated`, the rounding error of each addition is added to the next chunk.
/// With 32 registers, the sum so far and the sum of the chunk are both in registers, for one part of the tile after the
/// other. With `wholeTile`, the operands of a step are made for the whole tile: table rows that are added to keys would
/// be added once for each part, which took 1.14 of the time of two such layers (Zen 4). All tiles of a panel then
/// compute a chunk before the next chunk begins, with their sums so far in memory, so that what they read stays in L1.
struct Summation {
  int64_t chunk;
  bool compensated = false;
  bool wholeTile = false;
};
constexpr Summation kCompensated{kCompensatedChunk, true};

/// A part of a register tile: `rows` rows from `row` on × `vectors` vectors from `vector` on.
struct TilePart {
  int64_t row, rows, vector, vectors;
};
/// Returns `start` + the products of `steps` steps from `first` on, for a part of a tile.
using ProductsOfSteps = std::function<llvm::SmallVector<mlir::Value>(const TilePart &, mlir::Value first, int64_t steps,
                                                                     llvm::SmallVector<mlir::Value> start)>;

/// Steps of the depth in one turn of the loop.
constexpr int64_t kStepsOfTurn = 4;

/// Returns the sums of what `products` returns, over all steps. Intermediate sums are stored at held[places[…]].
llvm::SmallVector<mlir::Value> sumInChunks(VectorBuilder &, const TilePart &tile, int64_t depth, const Summation &,
                                           mlir::Value held, llvm::ArrayRef<mlir::Value> places,
                                           const ProductsOfSteps &products);
/// Returns the same sums, computed in chains of equal length, each of at most `kChain` steps. Intermediate sums are
/// stored as above.
llvm::SmallVector<mlir::Value> multiplyInChains(VectorBuilder &, const TilePart &tile, int64_t depth, mlir::Value held,
                                                llvm::ArrayRef<mlir::Value> places, const ProductsOfSteps &products);

} // namespace skewer
