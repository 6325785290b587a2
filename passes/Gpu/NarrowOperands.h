// Chooses the types of operands and results of attentions on a GPU. The GPU schedule and the GPU lowering run it, so
// that both see the same types.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer::gpu {

/// Makes attentions read their operands as they are stored: f16 and bf16 are not widened first, and rows of 8 bits, with
/// or without scales, have the form of NarrowRows.h. An operand that an
/// earlier stage computes for one attention alone is rounded to the type in which the attention multiplies. Results are
/// written in the type that their reader needs. Constants that an attention reads become tensors of the workspace.
void narrowOperands(mlir::func::FuncOp);

} // namespace skewer::gpu
