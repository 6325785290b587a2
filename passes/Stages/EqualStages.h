// Stages that compute the same.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// Of stages that compute the same from the same tensors, the first is made, and all readers read that: tables of
/// angles that a scheme makes for queries and for keys. What is no stage stays as often as it is written. Results of
/// the function have memory of their own.
void mergeEqualStages(mlir::func::FuncOp);

} // namespace skewer
