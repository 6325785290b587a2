// The cost of elementwise arithmetic, for the cost model.
#pragma once
#include "mlir/IR/Operation.h"

namespace skewer {

/// Returns the cycles that an operation of arith or math takes for one vector of `lanes` numbers.
double cyclesOfArithmetic(mlir::Operation &, int64_t lanes);

} // namespace skewer
