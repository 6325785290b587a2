// Transposes small operands of sums, so that vectors need not be gathered from them. A step of prepareStages.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// Transposes operands of sums of products that are not matrix products (few rows, or few columns). Such a sum is
/// vectorised along the axis that it sums over. If one operand is contiguous along that axis, and another operand,
/// which is read many times, is not, the other one is transposed first: weights of heads, [c, h], next to rows of c.
void alignOperands(mlir::func::FuncOp);

} // namespace skewer
