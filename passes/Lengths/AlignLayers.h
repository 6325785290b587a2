// Makes the layers of several lengths comparable: undoes what CSE and other passes did in some layers only, because
// sizes are equal there by chance. FitLengths.cpp calls it before it compares the layers.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// Gives the layers the same operations in the same order, if they compute the same. At the bound of `size N <= 16`, a
/// tensor of N columns and one of 16 columns have the same type, so that CSE merges their constants in that layer
/// alone. Here each layer gets one operation for each combination of operations that compute corresponding values, in
/// the order of the first layer. Changes nothing if the layers agree already or compute different things.
void alignLayers(llvm::ArrayRef<mlir::func::FuncOp> layers);

} // namespace skewer
