// Transposes squares of vectors in registers. Packing into panels (Engines/VectorEngine.cpp) uses it.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Returns the columns of `lanes` rows, where `lanes` is a power of two of at most 16: element [column][row] is
/// rows[row][column]. Each of the log2(lanes) · lanes shuffles takes two registers and is one x86 instruction.
llvm::SmallVector<mlir::Value> transposed(VectorBuilder &, llvm::ArrayRef<mlir::Value> rows);

} // namespace skewer
