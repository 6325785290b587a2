// Powers that are rounded to bf16: what a softmax needs of an exponential whose result an engine multiplies as bf16.
#pragma once
#include "passes/Emit/VectorBuilder.h"
#include "passes/Schedule/Target.h"

namespace skewer {

/// The scale of the numbers that `bf16Powers` takes: a number larger by kPowerOctave has twice the power, and kPowerOne
/// has the power 1.
constexpr float kPowerOctave = 128, kPowerOne = 127 * kPowerOctave;

/// Returns whether `bf16Powers` can be used: it takes AVX-512 with permutations of bytes.
bool hasBf16Powers(const VectorBuilder &, const Target &);

/// Returns the mask that `bf16Powers` takes: of the low byte of each pair of bytes. Emit it outside of loops: LLVM makes
/// a constant mask anew in each step, and this one stays in its register.
mlir::Value maskOfLowBytes(VectorBuilder &);
/// Returns the powers 2^(x / 128 - 127) of two vectors, as 32 elements of bf16 in one vector of f32: four of `first`,
/// then four of `second`, and so on. The result is exactly 1 for x = 16256, and 0 for x <= 0, also for -inf. It is 0
/// for NaN too: the caller must look for NaN, and for x above 32639, whose power is no number of bf16. The error is at
/// most 0.7 % of a power, 0.22 % in the root mean square; rounding to bf16 alone has 0.4 % and 0.16 %.
mlir::Value bf16Powers(VectorBuilder &, mlir::Value lowBytes, mlir::Value first, mlir::Value second);

} // namespace skewer
