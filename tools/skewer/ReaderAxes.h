// Fused layers with the axes' names that the text gives them: below the language axes are called by their place, which
// helps no reader.
#pragma once
#include "tools/skewer/Session/Compilation.h"

namespace skewer::driver {

/// A copy of the scheduled module in which each attention's axes are called as the kernel's text calls them, where that is
/// known. For pages and pictures: it means the same.
mlir::OwningOpRef<mlir::ModuleOp> withReadersAxes(const Kernel &, mlir::ModuleOp scheduled);

} // namespace skewer::driver
