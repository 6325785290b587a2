// The softmax of the rows of a block, a block of keys at a time: the maximum of each row so far, the sum of its
// weights, and what is subtracted from its scores. Source: Milakov and Gimelshein 2018 (arXiv:1805.02867), algorithm 3.
//
// The maximum is subtracted before anything is multiplied by log2(e), so that large scores lose nothing: scores that
// f32 holds exactly stay exact, and any finite number may be among them.
#pragma once
#include "passes/Cpu/KernelContext.h"
#include "passes/Cpu/Layout.h"

namespace skewer {

class RowSoftmax : KernelPart {
public:
  explicit RowSoftmax(KernelContext &context) : KernelPart(context) {}
  void plan(Layout &);
  void open();

  /// Sets a row to its state before the first key.
  void begin(mlir::Value row);
  /// Resets a row to its beginning, except its maxima: those of all keys that raised them are known now.
  void restart(mlir::Value row);
  /// Stores the scores of a tile at their places, and raises the maxima of its rows.
  void meet(const ScoreTile &, llvm::ArrayRef<mlir::Value> places);
  /// Turns the scores of the rows of a tile in a block of keys into weights, and adds them to the rows' sums. Direct
  /// weights are only added up, if their sum is a result.
  void weigh(const KeyBlock &, mlir::Value firstRow, VectorRuns);
  /// Raises what is subtracted from the scores of the rows of a tile to the maxima of a block of keys, for weights that
  /// `addWeights` makes, and shrinks the sums of the rows. `shrinkOthers` emits what else shrinks by the rows' factors. If
  /// references may be loose, they stay as they are while all rows have one.
  void raise(const KeyBlock &, mlir::Value firstRow, VectorRuns, ScoresOfRow, llvm::function_ref<void()> shrinkOthers);
  /// Calls `weighRow` for each row of a tile; `r` counts them, and `reference`, a scalar, is subtracted from the row's
  /// scores. It makes the row's weights for the block, and returns `total`, a vector, with these weights added.
  using WeighRow = llvm::function_ref<mlir::Value(mlir::Value r, mlir::Value reference, mlir::Value total)>;
  void addWeights(mlir::Value firstRow, WeighRow weighRow);
  /// Adds the totals of `addWeights` to the sums of the rows, after the last block of keys.
  void addTotals(const RowBlock &);
  /// Returns by how many factors of 2 the weights of a second pass are smaller (RowBlock::isSecond).
  mlir::Value octavesBelow(const RowBlock &);

  /// i1: some row of a block has a sum that is infinite or NaN.
  mlir::Value someSumsAreNoNumbers(mlir::Value rows);

  /// Returns whether a number may be subtracted from all scores of a row.
  bool mayShift() const { return shape.isPlainSoftmax(); }
  /// Records that `shift` is subtracted from all scores of a row. The weights do not depend on it, the lse does.
  void noteShift(mlir::Value row, mlir::Value shift);

  /// Returns the maximum of a row so far, as the number that is subtracted from its scores: 0 for a row without any.
  mlir::Value reference(mlir::Value row) { return b.broadcast(scalarReferenceOf(maximumSoFar(row))); }
  // Each function loads or stores one number of a row: the sum of its weights, the maximum that the sum refers to, the
  // factor by which sums of earlier key blocks shrink, and the shift.
  mlir::Value sum(mlir::Value row) { return b.scalar(sums, row); }
  mlir::Value maximum(mlir::Value row) { return b.scalar(scales, b.add(row, g.rowBlock)); }
  mlir::Value factor(mlir::Value row) { return b.scalar(scales, row); }
  mlir::Value shift(mlir::Value row) { return b.scalar(shifts, row); }
  void setSum(mlir::Value row, mlir::Value x) { b.storeScalar(x, sums, row); }
  void setMaximum(mlir::Value row, mlir::Value x) { b.storeScalar(x, scales, b.add(row, g.rowBlock)); }
  void setFactor(mlir::Value row, mlir::Value x) { b.storeScalar(x, scales, row); }
  void setShift(mlir::Value row, mlir::Value x) { b.storeScalar(x, shifts, row); }

  /// Returns the factor that undoes the smaller weights of a second pass (RowBlock::isSecond) in a row's sum, weights
  /// and weighted values; 1 if the row has the usual weights.
  mlir::Value factorToWhole(mlir::Value sum);
  /// Store the logarithm of the sum of a row's exponentials, and the sum of its direct weights, if they are results.
  void writeLogSum(mlir::Value row, mlir::Value firstRow, mlir::Value sum);
  void writeTotal(mlir::Value row, mlir::Value firstRow, mlir::Value sum);

private:
  void raiseMaxima(mlir::Value firstRow, VectorRuns, ScoresOfRow);
  mlir::Value maximumSoFar(mlir::Value row);
  mlir::Value scalarReferenceOf(mlir::Value maximum);
  mlir::Value placeOf(mlir::Value firstRow, mlir::Value row);
  void forRows(mlir::Value firstRow, llvm::function_ref<void(mlir::Value row, mlir::Value r)>);
  mlir::Value baseOf(const KeyBlock &, mlir::Value row, mlir::Value lowVector);
  mlir::Value needReferences(const KeyBlock &, mlir::Value firstRow);
  void shrinkSums(mlir::Value firstRow, llvm::function_ref<void()> shrinkOthers);
  void exponentials(const KeyBlock &, mlir::Value firstRow, VectorRuns);
  void makeSmaller(const KeyBlock &, mlir::Value firstRow, VectorRuns);
  mlir::Value factorBetween(mlir::Value before, mlir::Value largest);
  void addSum(const KeyBlock &, mlir::Value row, mlir::Value largest, mlir::Value own);
  void total(const KeyBlock &, mlir::Value row, VectorRuns);
  mlir::Value sumOfChains(mlir::Value count, mlir::Value start, llvm::function_ref<mlir::Value(mlir::Value x)> term);

  Buffer maximaBuffer, sumsBuffer, scalesBuffer, shiftsBuffer, referencesBuffer, totalsBuffer, powersBuffer;
  mlir::Value maxima;     // of each row: a vector
  mlir::Value sums;       // of each row
  mlir::Value scales;     // of each row: the factor for earlier key blocks; second half: the maximum that sums refer to
  mlir::Value shifts;     // of each row: the number that is subtracted from its scores
  mlir::Value references; // of each row of a tile: the number that its exponentials subtract; second half: its maximum
  mlir::Value totals;     // of each row of a tile: a vector of sums of its weights
  mlir::Value powers;     // of each row: a vector of sums of the weights that addWeights made
};

} // namespace skewer
