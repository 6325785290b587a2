// What is done to a function before a processor's stages are told apart.
#pragma once
#include "passes/Stages/Stages.h"

namespace skewer {

/// Results in the order in which they are wanted, operands of attentions and matrix products in f32 and in order, equal
/// stages once. `explain` and the comparison of layers at several lengths see the function as the kernel's emission
/// does. Without schedules yet, `walkedShape` says which attentions fuse.
void prepareStages(mlir::func::FuncOp, ShapeOfFused = fusedShape);

} // namespace skewer
