// Functions of vectors that a kernel computes for each score: polynomials, because a library would be called for every
// lane. And the maximum, the minimum and the reductions of lanes.
#pragma once
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

// The errors were measured over numbers of all exponents, in units in the last place (ulp), with FMA and without FMA
// (x86-64-v2).

/// Returns e^x for x up to 88.72; exactly 0 for results below the smallest normal number (also for -inf), NaN for
/// NaN, 1 for 0. The error is 1 ulp for x above -4, and an ulp more for each 25 below. With `large`, it is 0.9 ulp
/// for any x, for three more instructions. Without FMA (x86-64-v2), it is 1.2 ulp with `large`; else x is rounded as by
/// a subtraction.
mlir::Value expOfWeight(VectorBuilder &, mlir::Value x, bool large = false);
/// Returns e^x for x up to 88.72, for weights that are rounded to 8 digits: exactly 0 below the smallest normal number,
/// NaN for NaN, 1 for 0. The relative error is at most 2.4e-4. It is `expOfWeight` on processors without an instruction
/// that scales by powers of two.
mlir::Value expOfRoundedWeight(VectorBuilder &, mlir::Value x);
/// Returns e^x for any x: exactly 0 below the smallest normal number, infinite beyond the largest, NaN for NaN. Errors:
/// 0.9 and 1.2 ulp.
mlir::Value vectorExp(VectorBuilder &, mlir::Value x);
/// Returns tanh x: odd, never beyond 1, and exactly 1 where tanh rounds to 1. NaN for NaN. Errors: 2.5 and 2.5 ulp.
mlir::Value vectorTanh(VectorBuilder &, mlir::Value x);
/// Returns erf x: odd, never beyond 1, and exactly 1 where erf rounds to 1. NaN for NaN. Errors: 1.0 and 1.2 ulp.
mlir::Value vectorErf(VectorBuilder &, mlir::Value x);

/// Returns the result on vectors of an operation that is one of these functions; null if it is not.
mlir::Value vectorFunction(VectorBuilder &, mlir::Operation *, mlir::ValueRange operands);

/// Returns the maximum, as one vmaxps. It drops a NaN in `x` if `other` is a number: only for running maxima.
mlir::Value larger(VectorBuilder &, mlir::Value x, mlir::Value other);
/// Returns the minimum, as one vminps; `other` if `x` is NaN.
mlir::Value smaller(VectorBuilder &, mlir::Value x, mlir::Value other);
mlir::Value reduceAdd(VectorBuilder &, mlir::Value);
/// Returns the maximum of a vector without NaN. It compares halves. A reduction op has to handle NaN, and so compares
/// one lane after another on x86 (15 dependent maxima, a fifth of the time of a window of 49 keys).
mlir::Value reduceMax(VectorBuilder &, mlir::Value);

} // namespace skewer
