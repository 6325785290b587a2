// Which functions of a module are kernels as a whole.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// Whether the lowerings take the whole function: one block; tensors of f32, f16, bf16, i32 and i8 in, tensors out;
/// some operation of the attn dialect, and besides these only arithmetic on tensors, constants and sizes.
bool isKernel(mlir::func::FuncOp);

/// Whether an operation may be part of a kernel.
bool mayBeInKernel(mlir::Operation *);

} // namespace skewer
