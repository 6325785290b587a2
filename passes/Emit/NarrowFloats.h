// Numbers of 16 and of 8 bits, and what is computed with: f32.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// A number or a vector of numbers as f32; as it is where it is f32 already.
mlir::Value widened(mlir::ImplicitLocOpBuilder &, mlir::Value);
/// f32 rounded to nearest even, to bf16 or f16; as it is where that is its type.
mlir::Value narrowed(mlir::ImplicitLocOpBuilder &, mlir::Value, mlir::Type element);

} // namespace skewer
