// Gives the axes of fused layers the names of the text. Below the language, axes are named by their position, which
// does not help a reader.
#pragma once
#include "codegen/Compiler/Compiler.h"

namespace skewer::driver {

/// Returns a copy of the scheduled module in which the axes of each attention have the names in the kernel's text,
/// where they are known. For pages and pictures; the copy has the same meaning.
mlir::OwningOpRef<mlir::ModuleOp> withReadersAxes(const Kernel &, mlir::ModuleOp scheduled);

} // namespace skewer::driver
