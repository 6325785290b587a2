// The weights of some groups of rows in a block of keys, packed for the engine that multiplies them with the values of
// the head. They are rounded to the engine's elements; the sums of weights by which rows are divided are not.
#pragma once
#include "passes/Cpu/HeadValues.h"
#include "passes/Cpu/UpcomingHead.h"

namespace skewer {

class PackedWeights : KernelPart {
public:
  PackedWeights(KernelContext &context, const HeadValues &values, UpcomingHead &upcoming)
      : KernelPart(context), values(values), upcoming(upcoming) {}
  void plan(Layout &);
  void open();
  bool areUsed() const { return values.engine(); }

  /// Packs the weights of a group of rows for the keys of `all`. Those in `own` are where the scores were, the others
  /// are 0.
  void pack(const KeyBlock &, mlir::Value group, VectorRuns own, const KeyRange &all);
  /// Adds the products of packed weights and values to the sums of as many groups, from `firstGroup` on, as an engine
  /// multiplies at once.
  void multiply(const KeyBlock &, mlir::Value firstGroup, const KeyRange &all);

private:
  const WeightEngine &engine() const { return *values.engine()->forWeights(); }
  int64_t elements() const { return values.engine()->cost.elementsOfStep(); }
  int64_t rowStride() const;
  KeyRange tilesOf(const KeyRange &) const;

  const HeadValues &values;
  UpcomingHead &upcoming;
  Buffer packed;
  mlir::Value packedMemory;
};

} // namespace skewer
