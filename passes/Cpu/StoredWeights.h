// Stores the weights if they are a result of the kernel too. Each block of keys leaves its scores in the memory of that
// result, so that no other memory holds them. They are still in the caches when the maximum and the sum of the row are
// known and the scores become weights.
#pragma once
#include "passes/Cpu/RowSoftmax.h"

namespace skewer {

class StoredWeights : KernelPart {
public:
  StoredWeights(KernelContext &context, RowSoftmax &softmax) : KernelPart(context), softmax(softmax) {}
  bool areResult() const { return shape.further.weights; }
  /// Marks all keys of a block of rows as hidden: blocks of keys that are skipped store nothing, but their weights must
  /// be 0.
  void hideAll(const RowBlock &);
  /// Stores the scores of a row in a block of keys; direct weights are already final.
  void leaveScores(const KeyBlock &, mlir::Value row, VectorRuns);
  /// Turns the scores of a row into weights: exp(score - maximum) / sum. If the sum is NaN, the weights of all seen
  /// keys are NaN. The scores do not tell which keys are seen, because -inf may be a score too.
  void finish(mlir::Value row, mlir::Value position, mlir::Value inverse);

private:
  mlir::Value placeOf(mlir::Value position);
  void forVectorsOfKeys(mlir::Value low, mlir::Value high, mlir::Value place,
                        llvm::function_ref<mlir::Value(mlir::Value key, mlir::Value mask)> vector);

  RowSoftmax &softmax;
};

} // namespace skewer
