// Arithmetic that goes element by element.
#pragma once
#include "mlir/IR/Operation.h"

namespace skewer {

/// An operation of arith or math, or a function of numbers, that makes each element of its one result of the same
/// elements of its operands.
bool isElementwise(mlir::Operation *);

} // namespace skewer
