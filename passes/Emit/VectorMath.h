// Functions of vectors that a kernel computes for each score: polynomials in place of a call for every lane.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// e^x for any x: below the smallest normal number exactly 0, beyond the largest infinite, NaN for NaN. 1.2 ulp.
mlir::Value vectorExp(VectorBuilder &, mlir::Value x);
/// A rational function, odd, of degree 9 over 8, up to |x| = 9.01, where tanh rounds to 1: 3.1e-7 of the result at most
/// over all of f32 (measured on 4 million numbers). NaN for NaN.
mlir::Value vectorTanh(VectorBuilder &, mlir::Value x);

/// The operation on vectors, of one of these functions; null where it is none of them.
mlir::Value vectorFunction(VectorBuilder &, mlir::Operation *, mlir::ValueRange operands);

} // namespace skewer
