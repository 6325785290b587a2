// Squares of registers, transposed.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// The columns of `lanes` rows, a power of two of at most 16: element [column][row] is rows[row][column]. Each of its
/// log2(lanes) · lanes shuffles takes two registers, and is one instruction of x86.
llvm::SmallVector<mlir::Value> transposed(VectorBuilder &, llvm::ArrayRef<mlir::Value> rows);

} // namespace skewer
