// Prepares a function before it is divided into the stages of a GPU.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer::gpu {

/// Makes a rearrangement that only an attention reads part of its subscripts, and narrows the operands of attentions
/// (NarrowOperands.h). A layer of run-time length stays as it is: its layers were prepared before they were compared.
/// The choice of schedules and the lowering both begin with this, since a shape describes operands as they are stored.
void prepareStages(mlir::func::FuncOp);

} // namespace skewer::gpu
