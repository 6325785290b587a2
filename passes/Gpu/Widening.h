// Numbers of 8 bits as numbers that tensor cores multiply.
#pragma once
#include "passes/Gpu/GpuBuilder.h"

namespace skewer::gpu {

/// Returns the words (i32) of 16 bytes of numbers of type `to` (f16, bf16 or f32): the numbers that stand in the bytes
/// of `bytes`, i64 (f32: i32), the first in the lowest, times `scale` (f32; null: 1). `from` is f8E4M3FN or i8. A
/// product is rounded once; without a scale the numbers stay the same in each type.
llvm::SmallVector<Value> widenedWords(GpuBuilder &, Value bytes, Type from, Type to, Value scale, bool byInstruction);

} // namespace skewer::gpu
