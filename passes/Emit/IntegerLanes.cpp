// Emits integers in lanes, tables, gathers and permutations (IntegerLanes.h).
#include "passes/Emit/IntegerLanes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Emit/NarrowFloats.h"

using namespace mlir;
using namespace skewer;

Value skewer::laneNumbers(VectorBuilder &b) {
  SmallVector<int32_t> numbers;
  for (int64_t lane = 0; lane < b.lanes; ++lane)
    numbers.push_back(lane);
  return arith::ConstantOp::create(b.builder, DenseElementsAttr::get(b.integers, ArrayRef<int32_t>(numbers)));
}
Value skewer::integer(VectorBuilder &b, int32_t value) {
  return arith::ConstantOp::create(b.builder, DenseElementsAttr::get(b.integers, value));
}
Value skewer::integerTable(VectorBuilder &b, ArrayRef<int32_t> values) {
  auto module = b.builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto attribute = DenseElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(values.size())}, b.builder.getI32Type()), values);
  auto type = MemRefType::get({static_cast<int64_t>(values.size())}, b.builder.getI32Type());
  size_t count = 0;
  memref::GlobalOp found;
  for (auto global : module.getOps<memref::GlobalOp>()) {
    count += global.getSymName().starts_with("row_table_");
    if (!found && global.getInitialValueAttr() == attribute)
      found = global;
  }
  if (!found) {
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(module.getBody());
    found = memref::GlobalOp::create(b.builder, "row_table_" + std::to_string(count),
                                     b.builder.getStringAttr("private"), type, attribute, /*constant=*/true,
                                     /*alignment=*/b.builder.getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(b.builder, type, found.getSymName());
}
Value skewer::tableElement(VectorBuilder &b, Value table, Value at) {
  return arith::IndexCastOp::create(b.builder, b.builder.getIndexType(), memref::LoadOp::create(b.builder, table, at));
}
Value skewer::broadcastIndex(VectorBuilder &b, Value x) {
  Value narrow = arith::IndexCastOp::create(b.builder, b.builder.getI32Type(), x);
  return vector::BroadcastOp::create(b.builder, b.integers, narrow);
}

Value skewer::loadIntegers(VectorBuilder &b, Value buffer, Value at) {
  return vector::LoadOp::create(b.builder, b.integers, buffer, at);
}

Value skewer::gather(VectorBuilder &b, Value buffer, Value at, Value indices, Value mask) {
  auto type = cast<ShapedType>(buffer.getType()).getElementType();
  auto result = VectorType::get({b.lanes}, type);
  if (!mask)
    mask = b.firstLanes(b.lanes);
  Value none = arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(result)));
  return widened(b.builder, vector::GatherOp::create(b.builder, result, buffer, ValueRange{at}, indices, mask, none));
}

Value skewer::permute(VectorBuilder &b, Value x, Value pattern) {
  StringRef name = b.lanes == 16 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
  return LLVM::CallIntrinsicOp::create(b.builder, b.vector, b.builder.getStringAttr(name), ValueRange{x, pattern})
      .getResult(0);
}
