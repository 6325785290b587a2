// Emits products on tensor cores and the loads of their operands.
#include "passes/Gpu/Engines/MmaInstructions.h"

using namespace mlir;
using namespace skewer::gpu;

RowFragment skewer::gpu::loadMatrices(GpuBuilder &b, Value pointer, bool transposed) {
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getI32Type()));
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value loaded = NVVM::LdMatrixOp::create(b, type, pointer, 4, layout, shape, NVVM::LdStMatrixEltType::B16);
  RowFragment fragment;
  for (int64_t k = 0; k < 4; ++k)
    fragment[size_t(k)] = LLVM::ExtractValueOp::create(b, loaded, k);
  return fragment;
}

Accumulator skewer::gpu::multiply(GpuBuilder &b, const RowFragment &rows, const ColumnFragment &columns,
                                  const Accumulator &sum, Type element) {
  // NVVM's operation expects f16 as vectors, and bf16 and tf32 as i32.
  auto operands = [&](ArrayRef<Value> parts) {
    SmallVector<Value> values;
    for (Value part : parts)
      values.push_back(element.isF16() ? Value(LLVM::BitcastOp::create(b, VectorType::get({2}, element), part)) : part);
    return values;
  };
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  NVVM::MMATypes kind = element.isF16()    ? NVVM::MMATypes::f16
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::tf32;
  std::array<NVVM::MMATypes, 2> kinds{kind, kind};
  std::array<NVVM::MMALayout, 2> layouts{NVVM::MMALayout::row, NVVM::MMALayout::col};
  Value product = NVVM::MmaOp::create(
      b, type, operands(rows), operands(columns), SmallVector<Value>(sum.begin(), sum.end()),
      ArrayRef<int64_t>{16, 8, element.isF32() ? 8 : 16}, std::nullopt, std::nullopt, kinds, layouts);
  Accumulator result;
  for (int64_t k = 0; k < 4; ++k)
    result[size_t(k)] = LLVM::ExtractValueOp::create(b, product, k);
  return result;
}

Value skewer::gpu::bitsOf(GpuBuilder &b, Value number) { return LLVM::BitcastOp::create(b, b.getI32Type(), number); }
Value skewer::gpu::nearestTf32(GpuBuilder &b, Value bits) { return b.add(bits, b.i32(0x1000)); }
Value skewer::gpu::restOf(GpuBuilder &b, Value bits) {
  auto number = [&](Value bits) { return LLVM::BitcastOp::create(b, b.getF32Type(), bits); };
  return bitsOf(b, b.subf(number(bits), number(b.bitAnd(nearestTf32(b, bits), int32_t(0xffffe000)))));
}
