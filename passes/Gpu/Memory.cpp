// Emits addresses, loads and stores.
#include "passes/Gpu/Memory.h"
#include "passes/Emit/NarrowFloats.h"
#include "passes/Gpu/GpuLaunch.h"
#include "passes/Stages/NarrowRows.h"

using namespace mlir;
using namespace skewer::gpu;

BlockMemory::BlockMemory(GpuBuilder &b, mlir::gpu::GPUModuleOp module, int64_t alignment) : b(b) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  start = LLVM::AddressOfOp::create(b, pointer, sharedMemory(module, alignment));
}

Value BlockMemory::at(Value byteOffset) const {
  return LLVM::GEPOp::create(b, start.getType(), b.getI8Type(), start, ArrayRef<LLVM::GEPArg>{byteOffset});
}

/// Returns the type that LLVM loads: it has none for floating point numbers of 8 bits, which are bytes in memory.
static Type loadedType(GpuBuilder &b, Type element) { return isa<Float8E4M3FNType>(element) ? b.getI8Type() : element; }

Value skewer::gpu::globalAt(GpuBuilder &b, Value pointer, Value elementOffset, Type element) {
  return LLVM::GEPOp::create(b, pointer.getType(), loadedType(b, element), pointer,
                             ArrayRef<LLVM::GEPArg>{elementOffset});
}
Value skewer::gpu::load(GpuBuilder &b, Value pointer, Type type) {
  Value loaded = LLVM::LoadOp::create(b, loadedType(b, type), pointer);
  return loaded.getType() == type ? loaded : arith::BitcastOp::create(b, type, loaded).getResult();
}
void skewer::gpu::store(GpuBuilder &b, Value value, Value pointer) { LLVM::StoreOp::create(b, value, pointer); }
Value skewer::gpu::loadAt(GpuBuilder &b, Value pointer, Value elementOffset, Type element) {
  return load(b, globalAt(b, pointer, elementOffset, element), element);
}
void skewer::gpu::storeAt(GpuBuilder &b, Value value, Value pointer, Value elementOffset) {
  store(b, value, globalAt(b, pointer, elementOffset, value.getType()));
}

Value skewer::gpu::widen(GpuBuilder &b, Value x) {
  if (isOfBytes(x.getType()))
    return widened(b, x);
  return x.getType().isF32() ? x : Value(LLVM::FPExtOp::create(b, b.getF32Type(), x));
}
Value skewer::gpu::narrow(GpuBuilder &b, Value x, Type element) {
  return element.isF32() ? x : Value(LLVM::FPTruncOp::create(b, element, x));
}
Value skewer::gpu::pack(GpuBuilder &b, Value low, Value high, Type element) {
  Value pair = LLVM::PoisonOp::create(b, VectorType::get({2}, b.getF32Type()));
  pair = LLVM::InsertElementOp::create(b, pair, low, b.i32(0));
  pair = LLVM::InsertElementOp::create(b, pair, high, b.i32(1));
  Value narrowed = LLVM::FPTruncOp::create(b, VectorType::get({2}, element), pair);
  return LLVM::BitcastOp::create(b, b.getI32Type(), narrowed);
}
