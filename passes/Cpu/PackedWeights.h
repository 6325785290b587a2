// The weights of some groups of rows in a block of keys, packed for the engine that multiplies them with the values of
// the head. They are rounded to the engine's elements. If the engine makes them of exponents, rows are divided by sums
// of rounded weights; else by sums of weights that are not rounded.
#pragma once
#include "passes/Cpu/HeadValues.h"
#include "passes/Cpu/RowSoftmax.h"
#include "passes/Cpu/UpcomingHead.h"

namespace skewer {

class PackedWeights : KernelPart {
public:
  PackedWeights(KernelContext &context, const HeadValues &values, RowSoftmax &softmax, UpcomingHead &upcoming)
      : KernelPart(context), values(values), softmax(softmax), upcoming(upcoming) {}
  void plan(Layout &);
  void open();
  bool areUsed() const { return values.engine(); }

  /// Packs the weights of a group of rows for the keys of `all`. Those in `own` are where the scores were, the others
  /// are 0.
  void pack(const KeyBlock &, mlir::Value group, VectorRuns own, const KeyRange &all);
  /// Returns whether `packPowers` makes the weights, and nothing else reads them.
  bool areMadePacked() const;
  /// Does what `RowSoftmax::weigh` and `pack` do, with the references of the rows, but leaves the scores where they
  /// are.
  void packPowers(const KeyBlock &, mlir::Value group, VectorRuns own, const KeyRange &keys, ScoresOfRow);
  /// Adds the products of packed weights and values to the sums of as many groups, from `firstGroup` on, as an engine
  /// multiplies at once.
  void multiply(const KeyBlock &, mlir::Value firstGroup, const KeyRange &all);

private:
  const WeightEngine &engine() const { return *values.engine()->forWeights(); }
  int64_t elements() const { return values.engine()->cost.elementsOfStep(); }
  int64_t rowStride() const;
  KeyRange tilesOf(const KeyRange &) const;
  /// Makes a packed vector of `elements()` vectors of scores or weights; `state` is carried from one to the next.
  using PackTile =
      llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value> vectors, llvm::SmallVectorImpl<mlir::Value> &state)>;
  struct Group {
    const KeyBlock &block;
    mlir::Value number;
    VectorRuns own;      // of which the vectors are in memory
    const KeyRange &all; // that are packed
    bool isRare = false; // so that one loop with tests serves for all
  };
  llvm::SmallVector<mlir::Value> packRow(const Group &, mlir::Value r, float other, ScoresOfRow, mlir::ValueRange state,
                                         PackTile);

  const HeadValues &values;
  RowSoftmax &softmax;
  UpcomingHead &upcoming;
  Buffer packed;
  mlir::Value packedMemory;
};

} // namespace skewer
