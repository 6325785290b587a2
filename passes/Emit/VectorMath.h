// Functions of vectors that a kernel computes for each score: polynomials in place of a call for every lane.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

// How far each is off is what was measured over numbers of all exponents, in units in the last place, with FMA and
// without (x86-64-v2).

/// e^x for any x: below the smallest normal number exactly 0, beyond the largest infinite, NaN for NaN. 0.9 and 1.2.
mlir::Value vectorExp(VectorBuilder &, mlir::Value x);
/// Odd, never beyond 1, and exactly 1 where tanh rounds to it. NaN for NaN. 2.5 and 2.5.
mlir::Value vectorTanh(VectorBuilder &, mlir::Value x);
/// Odd, never beyond 1, and exactly 1 where erf rounds to it. NaN for NaN. 1.0 and 1.2.
mlir::Value vectorErf(VectorBuilder &, mlir::Value x);

/// The operation on vectors, of one of these functions; null where it is none of them.
mlir::Value vectorFunction(VectorBuilder &, mlir::Operation *, mlir::ValueRange operands);

} // namespace skewer
