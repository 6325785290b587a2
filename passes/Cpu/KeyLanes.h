// The key axes' values in the lanes of a vector, and what is found about a buffer of scores.
#pragma once
#include "passes/Cpu/Positions.h"

namespace skewer {

/// The key axes' values for as many keys as there are lanes, from `key` on; what is computed for keys behind the last
/// one is not used. With `keys`, how many there are, lanes behind the last key repeat it.
Positions::Values keyLanes(VectorBuilder &, const AttentionShape &, mlir::Value key, mlir::Value keys = {});
/// The key axis whose value goes up by one from lane to lane, if the keys have no others.
std::string keyInOrder(const AttentionShape &);
/// The largest of a buffer's elements [from, to); 0 where that is no finite number.
mlir::Value largestIn(VectorBuilder &, mlir::Value buffer, mlir::Value from, mlir::Value to);
/// `x`, or 0 where that is no finite number: infinities are left to the softmax.
mlir::Value ifFinite(VectorBuilder &, mlir::Value x);

} // namespace skewer
