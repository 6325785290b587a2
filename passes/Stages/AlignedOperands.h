// Sums whose vectors would have to be gathered from a small operand.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// A sum of products that is no matrix product (few rows, or few columns) goes along the axis that it sums over, a
/// vector at a time. Where one operand lies along it and another one, that is read again and again, does not, the
/// latter is turned first: weights of heads, [c, h], beside rows of c.
void alignOperands(mlir::func::FuncOp);

} // namespace skewer
