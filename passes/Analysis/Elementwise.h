// Recognizes elementwise arithmetic.
#pragma once
#include "mlir/IR/Operation.h"

namespace skewer {

/// Returns whether an operation is of arith or math, or a function of numbers, and computes each element of its single
/// result from the elements of its operands at the same place.
bool isElementwise(mlir::Operation *);

} // namespace skewer
