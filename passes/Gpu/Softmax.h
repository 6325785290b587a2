// The online softmax: a running maximum and sum for each of a thread's rows (Milakov and Gimelshein 2018,
// arXiv:1805.02867), and the result that is rescaled with them.
#pragma once
#include "passes/Gpu/Engine.h"
#include <optional>

namespace skewer::gpu {

/// Of a thread's rows, while the tiles pass.
struct RowState {
  llvm::SmallVector<Value> maximum, sum;
  WeightedSums output;

  /// Without the factor that is still to be applied: there is none between steps.
  llvm::SmallVector<Value> numbers() const;
  static RowState of(ValueRange numbers, size_t rows);
};

/// No keys seen so far; `columnTiles` of the values.
RowState emptyRows(GpuBuilder &, const ScoreLayout &, size_t columnTiles);

/// Scores become weights. `ofTile`: what is to be added to all scores of a row; may be null. `lateScale`: see
/// KernelContext. With `shrinksLater` the output's rescaling is left to the next product.
RowState softmaxStep(GpuBuilder &, const ScoreLayout &, Tiles &scores, llvm::ArrayRef<Value> ofTile,
                     std::optional<double> lateScale, bool shrinksLater, const RowState &before);

/// The same where weights are direct: their sums, and nothing shrinks.
RowState addDirect(GpuBuilder &, const ScoreLayout &, const Tiles &weights, const RowState &before, bool shrinksLater);

} // namespace skewer::gpu
