// Sums that a tensor is made of several times over.
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace skewer {

/// The sums that `tensor` reads in several places, if written out it would have more summands than terms are good for:
/// each `y = y[1:] + y[:-1]` doubles them. Empty otherwise. They are computed once, as tensors of their own.
llvm::DenseSet<mlir::Value> sharedSums(mlir::Value tensor);

/// Whether a copy of the sum for each of its users, with the user's index map below it, would be summands in such
/// number.
bool isCopiedTooOften(mlir::Value sum);

} // namespace skewer
