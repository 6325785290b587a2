// Gives the axes of fused layers the names of the text, for `explain`, `plot` and the language server. The passes name
// axes by their position, which does not help a reader.
#pragma once
#include "codegen/Compiler/Compiler.h"

namespace skewer::driver {

/// Returns a copy of the scheduled module in which the axes of each attention have the names in the kernel's text,
/// where they are known. For pages and pictures; the copy has the same meaning.
mlir::OwningOpRef<mlir::ModuleOp> withReadersAxes(const Kernel &, mlir::ModuleOp scheduled);

} // namespace skewer::driver
