// Finds the functions of a module that are whole kernels.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer {

/// Returns whether the lowerings take the whole function as a kernel: it has one block; its arguments are tensors of
/// f32, f16, bf16, i32, i8 and f8E4M3FN, and its results are tensors of f32, f16 and bf16; it has some operation of the
/// attn dialect, and otherwise only arithmetic on tensors, constants and sizes.
bool isKernel(mlir::func::FuncOp);

/// Returns whether an operation may be part of a kernel.
bool mayBeInKernel(mlir::Operation *);

} // namespace skewer
