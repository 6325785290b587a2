// Finds sums that a tensor reads several times, so that expansions do not write them out too often.
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace skewer {

/// Returns the sums that `tensor` reads in several places, if writing them out would give more summands than terms
/// should have: each `y = y[1:] + y[:-1]` doubles them. Returns an empty set otherwise. The sums in the set are
/// computed once, as tensors of their own.
llvm::DenseSet<mlir::Value> sharedSums(mlir::Value tensor);

/// Returns whether a copy of the sum for each of its users, with the user's index map below it, would give more
/// summands than terms should have.
bool isCopiedTooOften(mlir::Value sum);

} // namespace skewer
