// Emits functions of vectors that a kernel computes for each score: polynomials, because a library would be called for
// every lane.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

// The errors were measured over numbers of all exponents, in units in the last place (ulp), with FMA and without FMA
// (x86-64-v2).

/// Returns e^x for any x: exactly 0 below the smallest normal number, infinite beyond the largest, NaN for NaN. Errors:
/// 0.9 and 1.2 ulp.
mlir::Value vectorExp(VectorBuilder &, mlir::Value x);
/// Returns tanh x: odd, never beyond 1, and exactly 1 where tanh rounds to 1. NaN for NaN. Errors: 2.5 and 2.5 ulp.
mlir::Value vectorTanh(VectorBuilder &, mlir::Value x);
/// Returns erf x: odd, never beyond 1, and exactly 1 where erf rounds to 1. NaN for NaN. Errors: 1.0 and 1.2 ulp.
mlir::Value vectorErf(VectorBuilder &, mlir::Value x);

/// Returns the result on vectors of an operation that is one of these functions; null if it is not.
mlir::Value vectorFunction(VectorBuilder &, mlir::Operation *, mlir::ValueRange operands);

} // namespace skewer
