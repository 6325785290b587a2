// The logarithm of a sum of exponentials, beside what was subtracted from them.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// `total`, the largest score and the logarithm of the sum of a row's exponentials added up, as code gives it: the
/// largest score itself where that is inf. All of the others are infinitely far below it then, and the difference of
/// two infinities, which the sum is made of, is no number.
mlir::Value logSumExp(mlir::ImplicitLocOpBuilder &, mlir::Value largest, mlir::Value total);

} // namespace skewer
