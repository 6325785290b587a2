// Computes the data that `skewer plot` draws for a layer without a fused attention. PlotData.cpp calls it.
#pragma once
#include "tools/skewer/PlotData.h"

namespace skewer::driver {
/// Adds the data of `function`, which is level 1 of the kernel. Returns an error if there is nothing to draw.
llvm::Error plotUnfused(mlir::func::FuncOp function, const KernelPlan &signature, const Operands &, int64_t head,
                        PlotData &);
} // namespace skewer::driver
