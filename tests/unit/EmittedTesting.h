// Compiles the code that a builder emits into this process, and runs it: one function that fills an array of floats.
#pragma once
#include "codegen/ABI/Emit.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "passes/Emit/VectorBuilder.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Register.h"
#include <cstring>
#include <gtest/gtest.h>

namespace skewer::testing {

/// The lanes of the vectors of `runEmitted` for its usual target.
constexpr int64_t kLanes = 4;

/// Runs `emit(builder, buffer)` once and returns the `count` floats of the buffer. Vectors have four lanes, as on every
/// x86-64, unless the target has more and this machine is such a target.
inline std::vector<float> runEmitted(int64_t count, const std::function<void(VectorBuilder &, mlir::Value)> &emit,
                                     const char *targetName = "x86-64-v2") {
  using namespace mlir;
  auto target = findTarget(targetName);
  DialectRegistry registry;
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  vector::VectorDialect, x86vector::X86VectorDialect, LLVM::LLVMDialect>();
  registerLlvmConversions(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ImplicitLocOpBuilder builder(UnknownLoc::get(&context), &context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto floats = MemRefType::get({ShapedType::kDynamic}, builder.getF32Type());
  auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  Type index = builder.getIndexType();
  auto function =
      func::FuncOp::create(builder, "fill", builder.getFunctionType({floats, bytes, bytes, index, index}, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  VectorBuilder vectors(builder, target->lanes);
  emit(vectors, block->getArgument(0));
  func::ReturnOp::create(builder);

  KernelPlan plan;
  plan.name = "emitted";
  plan.outputs = {{"out", ElementType::F32, {{"", count}}, std::nullopt}};
  plan.phases = {{"fill", "fill", {1, 0, {}}}};
  PassManager lower(&context);
  lower.enableVerifier(false); // toLlvmModule verifies what becomes of it
  addLlvmPipeline(lower, *target);
  std::vector<float> values(count, -12345.0f);
  if (failed(lower.run(*module))) {
    ADD_FAILURE() << "what was emitted does not lower";
    return values;
  }
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto llvmModule = toLlvmModule(*module, plan, *target, *llvmContext, "0");
  if (!llvmModule || optimize(**llvmModule, *target)) {
    ADD_FAILURE() << "no LLVM IR";
    return values;
  }
  auto kernel = JitKernel::create(std::move(*llvmModule), std::move(llvmContext), plan, *target);
  if (!kernel) {
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return values;
  }
  void *out = values.data();
  EXPECT_EQ((*kernel)->run({}, out, {}, Exec()), 0);
  return values;
}

/// Returns a whole number as a float with the same bits, since the buffer holds floats.
inline mlir::Value asFloat(VectorBuilder &b, mlir::Value number) {
  using namespace mlir;
  if (number.getType().isIndex())
    number = arith::IndexCastOp::create(b.builder, b.builder.getI32Type(), number);
  if (number.getType().isInteger(1))
    number = arith::ExtUIOp::create(b.builder, b.builder.getI32Type(), number);
  if (auto vector = dyn_cast<VectorType>(number.getType())) {
    if (vector.getElementType().isInteger(1))
      number = arith::ExtUIOp::create(b.builder, b.integers, number);
    return arith::BitcastOp::create(b.builder, b.vector, number);
  }
  return arith::BitcastOp::create(b.builder, b.builder.getF32Type(), number);
}
inline int32_t asNumber(float bits) {
  int32_t number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

} // namespace skewer::testing
