// Types of what attentions on a GPU read and write.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer::gpu {

/// Operands of attentions as they are stored: f16 and bf16 are not widened before, and what an earlier stage computes
/// for an attention alone is rounded to the type that it multiplies; results are written in the type that is wanted.
/// Constants that an attention reads become tensors of the workspace.
void narrowOperands(mlir::func::FuncOp);

} // namespace skewer::gpu
