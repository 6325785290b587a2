// What the fusion passes composed away, remembered in locations: for people who ask, never for a decision.
#pragma once
#include "dialect/IR/TextPlace.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace skewer {

/// An operation of the spec that became part of another one, with the tensor it would have held in memory.
struct ComposedOperation {
  std::string operation;      // "pad", "reshape", "slice", "einsum", "mulf": the name without its dialect
  std::vector<int64_t> shape; // of its result; -1 for a run-time size
  int64_t elementBytes = 4;
  attn::TextPlace place;
};

/// `location`, and with it `op` and all that had become part of `op`. `location` stays the first place that is found in
/// the result. An einsum that only stands for what was composed into it is not mentioned itself.
mlir::Location withComposed(mlir::Location location, mlir::Operation *op);
/// What `from` remembers, for an operation that takes its place at `location`.
mlir::Location withComposed(mlir::Location location, mlir::Location from);

/// The location alone, and what it remembers but for the contraction: of a term whose sum became an operation again.
mlir::Location withoutComposed(mlir::Location location);
mlir::Location withoutContraction(mlir::Location location);

/// In the order in which it was composed: the operation nearest to the operands first.
std::vector<ComposedOperation> composedInto(mlir::Location);

} // namespace skewer
