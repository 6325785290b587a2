// The instructions of mma.sync and ldmatrix, and the bits of tf32.
#pragma once
#include "passes/Gpu/Engine.h"

namespace skewer::gpu {

/// The column operand of mma: 16×8, or 8×8 of f32.
using ColumnFragment = std::array<Value, 2>;

/// Loads four 8×8 matrices of two-byte elements. For each matrix, eight lanes name its rows, in shared memory.
RowFragment loadMatrices(GpuBuilder &, Value pointer, bool transposed);
/// Returns sum + rows × columns. Of an f32, the tensor cores read the upper 19 bits (tf32).
Accumulator multiply(GpuBuilder &, const RowFragment &, const ColumnFragment &, const Accumulator &sum, Type element);

Value bitsOf(GpuBuilder &, Value number); // of f32
/// Returns the bits of an f32 whose upper 19 bits are the nearest tf32. A NaN may become a number; then its rest is
/// NaN.
Value nearestTf32(GpuBuilder &, Value bits);
/// Returns the rest of an f32 that the nearest tf32 leaves, x - nearest(x), exactly, as bits.
Value restOf(GpuBuilder &, Value bits);

} // namespace skewer::gpu
