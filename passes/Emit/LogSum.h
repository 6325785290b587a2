// Emits the logarithm of a sum of exponentials from which the largest score was subtracted. All lowerings use it, so
// that they agree on infinite scores.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// Returns the log-sum-exp of a row. `total` is the emitted sum of the largest score and the logarithm of the row's sum
/// of exponentials. The result is `total`, or the largest score if that is inf: the other scores do not count then, and
/// `total` is NaN because the exponentials contain a difference of two infinities.
mlir::Value logSumExp(mlir::ImplicitLocOpBuilder &, mlir::Value largest, mlir::Value total);

} // namespace skewer
