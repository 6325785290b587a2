// Values of the key axes in the lanes of a vector, and the largest number of a buffer. Strategies call these functions.
#pragma once
#include "passes/Cpu/Positions.h"

namespace skewer {

/// Returns the values of the key axes for one key a lane, from `key` on. The caller must not use what it computes for
/// keys behind the last one. If `keys`, the number of keys, is given, lanes behind the last key repeat that key.
Positions::Values keyLanes(VectorBuilder &, const AttentionShape &, mlir::Value key, mlir::Value keys = {});
/// Returns the key axis that spans all keys, whose value increases by one from lane to lane; empty if there is none.
std::string keyInOrder(const AttentionShape &);
/// Returns the largest of the elements [from, to) of a buffer; 0 if that is not a finite number.
mlir::Value largestIn(VectorBuilder &, mlir::Value buffer, mlir::Value from, mlir::Value to);
/// Returns the same for `count` elements from `from` on. The buffer must have whole vectors of them.
mlir::Value largestOf(VectorBuilder &, mlir::Value buffer, mlir::Value from, int64_t count);
/// Returns `x`, or 0 if `x` is not a finite number: infinities are left to the softmax.
mlir::Value ifFinite(VectorBuilder &, mlir::Value x);

} // namespace skewer
