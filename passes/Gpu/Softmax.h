// The online softmax: a running maximum and sum for each of a thread's rows (Milakov and Gimelshein 2018,
// arXiv:1805.02867), and the result that is rescaled with them.
//
// Exponentials are powers of two: exp(score - maximum) is 2^(score × log2(e) - reference), one multiply-add and the
// power. The reference is maximum × log2(e) as f32 has it. What it was rounded by is the same for all keys of a row, so
// that the quotient does not see it; it grows with the maximum. Rows of a large one have their scores less the maximum
// instead, and reference 0.
#pragma once
#include "passes/Gpu/Engine.h"

namespace skewer::gpu {

/// Exponentials of scores that lack the factor `scale`.
class Powers {
public:
  Powers(GpuBuilder &b, double scale);
  /// Of a maximum that is no infinity, to base 2.
  Value referenceOf(Value maximum) const;
  /// Whether the scores of the row of this reference are taken less their maximum (i1).
  Value isLarge(Value reference) const;
  /// exp(score - maximum), times 2 to the power of what the reference was rounded by.
  Value powerOf(Value score, Value negativeReference) const;
  /// The exponent, to base 2, of what weights that refer to the maximum `before` are multiplied with where others refer
  /// to `now`.
  Value shrinkBetween(Value before, Value now) const;
  /// ln Σ exp(score), of a maximum and the sum of the powers that refer to it.
  Value logOfSum(Value maximum, Value sum) const;

  GpuBuilder &b;
  Value factor; // scale × log2(e)

private:
  /// maximum × factor - reference: exact.
  Value restOf(Value maximum) const;
  double scale;
};

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

/// Scores become weights. `ofTile`: what is to be added to all scores of a row; may be null. With `shrinksLater` the
/// output's rescaling is left to the next product.
RowState softmaxStep(GpuBuilder &, const ScoreLayout &, Tiles &scores, llvm::ArrayRef<Value> ofTile, const Powers &,
                     bool shrinksLater, const RowState &before);

/// The same where weights are direct: their sums, and nothing shrinks.
RowState addDirect(GpuBuilder &, const ScoreLayout &, const Tiles &weights, const RowState &before, bool shrinksLater);

} // namespace skewer::gpu
