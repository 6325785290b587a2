// Records in locations which operations the fusion passes composed away. Reports to people read it; no decision of the
// compiler depends on it.
#pragma once
#include "dialect/IR/TextPlace.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace skewer {

/// An operation of the program that became part of another one, and the tensor that it would have written to memory.
struct ComposedOperation {
  std::string operation;      // "pad", "reshape", "slice", "einsum", "mulf": the name without its dialect
  std::vector<int64_t> shape; // of its result; -1 for a run-time size
  int64_t elementBytes = 4;
  attn::TextPlace place;
};

/// Returns `location` with records of `op` and of all that had become part of `op`. `location` stays the first place
/// found in the result. An einsum that only holds what was composed into it gets no record of its own.
mlir::Location withComposed(mlir::Location location, mlir::Operation *op);
/// Returns `location` with the records of `from`, for an operation that replaces another one.
mlir::Location withComposed(mlir::Location location, mlir::Location from);

/// Return the location without its records, and with all records except the contraction's. The latter is for a term
/// whose sum became an operation of its own again.
mlir::Location withoutComposed(mlir::Location location);
mlir::Location withoutContraction(mlir::Location location);

/// Returns the composed operations in the order of composition: the operation nearest to the operands first.
std::vector<ComposedOperation> composedInto(mlir::Location);

} // namespace skewer
