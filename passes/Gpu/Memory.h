// Shared and global memory as a thread of a GPU kernel sees it, and the types that elements have there.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuBuilder.h"

namespace skewer::gpu {

/// Address spaces of PTX, by LLVM's numbers.
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// The shared memory of a block.
class BlockMemory {
public:
  /// Emits the address of the module's shared memory, which begins at a multiple of `alignment` bytes.
  BlockMemory(GpuBuilder &b, mlir::gpu::GPUModuleOp, int64_t alignment);
  BlockMemory(GpuBuilder &b, Value start) : b(b), start(start) {}
  Value at(Value byteOffset) const;
  /// Returns the place of the `number`-th f32 (i32) behind an offset in bytes.
  Value numberAt(Value number, int64_t byteOffset) const { return at(b.add(b.shiftLeft(number, 2), byteOffset)); }

private:
  GpuBuilder &b;
  Value start;
};

/// Returns the place of an element in global memory; the offset is in elements, of i64.
Value globalAt(GpuBuilder &, Value pointer, Value elementOffset, Type element);
Value load(GpuBuilder &, Value pointer, Type);
void store(GpuBuilder &, Value, Value pointer);
/// `load` and `store` of an element in global memory.
Value loadAt(GpuBuilder &, Value pointer, Value elementOffset, Type element);
void storeAt(GpuBuilder &, Value, Value pointer, Value elementOffset);

Value widen(GpuBuilder &, Value element);               // to f32
Value narrow(GpuBuilder &, Value number, Type element); // from f32
/// Packs two f32 as f16 or bf16 into an i32, the first in the low half; rounds to the nearest even.
Value pack(GpuBuilder &, Value low, Value high, Type element);

} // namespace skewer::gpu
