// Prepares a function before it is divided into the stages of a processor. The processor's lowering, `explain` and the
// comparison of layers at several lengths call it.
#pragma once
#include "passes/Stages/Stages.h"

namespace skewer {

/// Writes results in the order of axes that their readers need, widens operands of attentions and matrix products to
/// f32, aligns operands of sums, and merges equal stages. `explain` and the comparison of layers at several lengths
/// then see the same function as the emission of the kernel. Before schedules are chosen, `walkedShape` says which
/// attentions fuse.
void prepareStages(mlir::func::FuncOp, ShapeOfFused = fusedShape);

} // namespace skewer
