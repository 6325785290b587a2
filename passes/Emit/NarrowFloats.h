// Emits conversions between numbers of 16 or 8 bits and f32. Tensors may have the narrow types, but processor kernels
// compute in f32.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// Returns a number or a vector of numbers as f32; unchanged if it is f32.
mlir::Value widened(mlir::ImplicitLocOpBuilder &, mlir::Value);
/// Returns an f32 number or vector rounded to nearest even, to bf16 or f16; unchanged if it has that type. With
/// `hasBf16`, the processor has an instruction for vectors of bf16.
mlir::Value narrowed(mlir::ImplicitLocOpBuilder &, mlir::Value, mlir::Type element, bool hasBf16 = false);

} // namespace skewer
