// Merges stages that compute the same. A step of prepareStages.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// Keeps the first of several stages that compute the same from the same tensors, and makes all readers read its
/// result: tables of angles that a scheme computes for queries and for keys. Operations that are not stages, and
/// results of the function, which have memory of their own, are not merged.
void mergeEqualStages(mlir::func::FuncOp);

} // namespace skewer
