// Integers in the lanes of a vector, constant tables of integers, and what the lanes of a vector pick by their
// integers.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Returns the lane indices 0, 1, … as i32 lanes.
mlir::Value laneNumbers(VectorBuilder &);
/// Returns a constant in every i32 lane.
mlir::Value integer(VectorBuilder &, int32_t);
/// Returns an index value as i32 in every lane.
mlir::Value broadcastIndex(VectorBuilder &, mlir::Value);
/// Loads as many elements of a buffer of i32 as there are lanes.
mlir::Value loadIntegers(VectorBuilder &, mlir::Value buffer, mlir::Value at);

/// Returns a private constant of the module, as memref<…xi32>; equal tables share one.
mlir::Value integerTable(VectorBuilder &, llvm::ArrayRef<int32_t> values);
/// Returns an element of such a table, of type index.
mlir::Value tableElement(VectorBuilder &, mlir::Value table, mlir::Value at);

/// Loads buffer[at + indices[lane]] in each lane. With `mask`, lanes that are not set are 0 and are not read.
mlir::Value gather(VectorBuilder &, mlir::Value buffer, mlir::Value at, mlir::Value indices, mlir::Value mask = {});
/// Returns x[pattern[lane] mod lanes] in each lane, in one instruction. Needs `canPermute`.
mlir::Value permute(VectorBuilder &, mlir::Value x, mlir::Value pattern);
inline bool canPermute(const VectorBuilder &b) { return b.lanes == 8 || b.lanes == 16; }

} // namespace skewer
