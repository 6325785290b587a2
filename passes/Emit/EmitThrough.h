// The function that an attention's scores go through, emitted on single numbers or on vectors of them.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// What the region of an attention's `through` gives for these sums, all of one type: f32 or f64, or vectors of them.
/// Without a region, the first of them. `own` may compute an operation in a better way; where it gives null the
/// operation stands as it is.
mlir::Value emitThrough(mlir::ImplicitLocOpBuilder &, mlir::Region &through, mlir::ValueRange sums,
                        llvm::function_ref<mlir::Value(mlir::Operation *, mlir::ValueRange)> own = nullptr);

} // namespace skewer
