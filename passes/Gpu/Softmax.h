// The online softmax: a running maximum and sum for each of a thread's rows (Milakov and Gimelshein 2018,
// arXiv:1805.02867), and the result, which is rescaled with them. The kernel calls it once for each tile of keys.
//
// Exponentials are powers of two: exp(score - maximum) is 2^(score × log2(e) - reference), one multiply-add and one
// power. The reference is maximum × log2(e), rounded to f32. The rounding error is the same for all keys of a row, so
// it cancels in the quotient; but it grows with the maximum. If the maximum is large, it is subtracted from the row's
// scores instead, and the reference is 0.
#pragma once
#include "passes/Gpu/Engine.h"

namespace skewer::gpu {

/// Computes exponentials of scores that lack the factor `scale`.
class Powers {
public:
  /// `areNarrow`: the weights are rounded to 16 bits.
  Powers(GpuBuilder &b, double scale, bool areNarrow);
  /// Returns the reference of a finite maximum, to base 2.
  Value referenceOf(Value maximum) const;
  /// Returns whether the maximum is subtracted from the scores of the row with this reference (i1).
  Value isLarge(Value reference) const;
  /// Returns whether the rounding of a reference may be seen in weights if each tile rounds it anew (i1).
  Value isRoundedAnew(Value reference) const;
  /// Returns whether the size of a reference is above a limit, or not a number.
  Value isAbove(double limit, Value reference) const;
  /// Returns exp(score - maximum), times 2 to the power of the reference's rounding error.
  Value powerOf(Value score, Value negativeReference) const;
  /// Returns the exponent, to base 2, of the factor by which weights that refer to the maximum `before` become weights
  /// that refer to `now`.
  Value shrinkBetween(Value before, Value now) const;
  /// Returns ln Σ exp(score), from a maximum and the sum of the powers that refer to it.
  Value logOfSum(Value maximum, Value sum) const;

  GpuBuilder &b;
  Value factor; // scale × log2(e)
  double factorValue() const;

private:
  /// Returns maximum × factor - reference, exactly.
  Value restOf(Value maximum) const;
  double scale;
  bool areNarrow;
};

/// Numbers that are added to all scores of a row, or to those of a part of its columns.
class RowNumbers {
public:
  /// `columns`: of a part.
  RowNumbers(const ScoreLayout &layout, int64_t columns)
      : columns(columns), ofRow(size_t(int64_t(layout.columnTiles()) * 8 / columns)),
        numbers(layout.rows() * ofRow) {}
  size_t parts() const { return ofRow; }
  size_t partOf(const HeldNumber &number) const { return size_t(number.column / columns); }
  /// Returns the number of a part of a row; null: none.
  Value &at(size_t row, size_t part) { return numbers[row * ofRow + part]; }
  Value at(size_t row, size_t part) const { return numbers[row * ofRow + part]; }
  Value at(const HeldNumber &number) const { return at(number.row, partOf(number)); }
  void add(GpuBuilder &b, size_t row, size_t part, Value number) {
    Value &sum = at(row, part);
    sum = sum ? b.addf(sum, number) : number;
  }

private:
  int64_t columns;
  size_t ofRow;
  llvm::SmallVector<Value> numbers;
};

/// The state of a thread's rows between two tiles of keys.
struct RowState {
  /// The maximum that weights refer to: of all tiles so far, or an earlier one while no score is much larger.
  llvm::SmallVector<Value> maximum;
  llvm::SmallVector<Value> sum;
  WeightedSums output;

  /// Returns all numbers, without `output.shrink`: between steps there is no factor left to apply.
  llvm::SmallVector<Value> numbers() const;
  static RowState of(ValueRange numbers, size_t rows);
};

/// Returns the state before the first key. `columnTiles`: of the values.
RowState emptyRows(GpuBuilder &, const ScoreLayout &, size_t columnTiles);

/// The code that rescales the output when weights refer to a larger maximum than before.
enum class Rescaling {
  AtOnce,      // the step itself
  WithProduct, // the next product, by the factors in `output.shrink`
  Afterwards   // the caller (`rescaled`), when the products that it waits for have been added
};

/// Turns scores into weights. `ofTile`: numbers to add to the scores of each row.
RowState softmaxStep(GpuBuilder &, const ScoreLayout &, Tiles &scores, const RowNumbers &ofTile, const Powers &,
                     Rescaling, const RowState &before);
/// Returns the sums times their factors.
Tiles rescaled(GpuBuilder &, const ScoreLayout &, const WeightedSums &);

/// Adds direct weights to their sums; nothing is rescaled.
RowState addDirect(GpuBuilder &, const ScoreLayout &, const Tiles &weights, const RowState &before, bool shrinksLater);

} // namespace skewer::gpu
