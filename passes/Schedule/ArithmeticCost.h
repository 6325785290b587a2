// What arithmetic element by element costs.
#pragma once
#include "mlir/IR/Operation.h"

namespace skewer {

/// Cycles that an operation of arith or math takes for one vector of so many numbers.
double cyclesOfArithmetic(mlir::Operation &, int64_t lanes);

} // namespace skewer
