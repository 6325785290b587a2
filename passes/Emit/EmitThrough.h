// Emits the function that an attention's scores go through, on single numbers or on vectors. All lowerings use it.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// Returns the value of an attention's `through` region for these sums, which have one type: f32 or f64, or vectors of
/// them. Without a region, returns the first sum. `own` may compute an operation in a better way; if it returns null,
/// the operation is cloned.
mlir::Value emitThrough(mlir::ImplicitLocOpBuilder &, mlir::Region &through, mlir::ValueRange sums,
                        llvm::function_ref<mlir::Value(mlir::Operation *, mlir::ValueRange)> own = nullptr);

} // namespace skewer
