// What `skewer plot` draws of a layer without a fused attention.
#pragma once
#include "tools/skewer/PlotData.h"

namespace skewer::driver {
/// `function` is the kernel's level 1. An error where there is nothing to draw.
llvm::Error plotUnfused(mlir::func::FuncOp function, const KernelPlan &signature, const Operands &, int64_t head,
                        PlotData &);
} // namespace skewer::driver
