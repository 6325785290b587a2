// What the terms of the values hold while a kernel is emitted.
#pragma once
#include "passes/Cpu/RowPlan.h"

namespace skewer {

/// One for each of AttentionShape::valueTerms.
struct ValuePlan {
  // Runs, Axis: the rows that are read, scaled and as wide as whole vectors, packed once a head; without a buffer they
  // are read where they lie. Elements of the operand count `unit`s from `first` there, each a row of `rowFloats`.
  Buffer table;
  int64_t first = 0, unit = 1, rows = 0, rowFloats = 0;
  // Runs: sums of the weights of the runs that stay on one row, for each query of a group. Axis: sums of the weights of
  // one query for each position of the key axis, and a vector more.
  Buffer weights;
  int64_t weightStride = 0;

  bool isPacked() const { return table.floats > 0; }
  mlir::Value tableBuffer, tableBase, weightsBuffer; // while emitting a phase
};

} // namespace skewer
