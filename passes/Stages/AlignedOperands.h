// Transposes small operands of sums, so that vectors need not be gathered from them. A step of prepareStages.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// A sum of products that is not a matrix product (few rows, or few columns) is vectorised along the axis that it sums
/// over. If one operand is contiguous along that axis, and another one that is read many times is not, this transposes
/// the latter first: weights of heads, [c, h], next to rows of c.
void alignOperands(mlir::func::FuncOp);

} // namespace skewer
