// Small kernels in MLIR, with their plans, for the tests of the C contract: lowered and compiled into this process.
#pragma once
#include "codegen/ABI/Emit.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

namespace skewer::testing {

// The kernel has two phases: the first copies x into the shared workspace, the second doubles it through the worker's
// own workspace. A work item is a row of four numbers.
constexpr const char *kPhases = R"mlir(
func.func @copy(%x: memref<?xf32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>, %local: memref<?xi8>,
                %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %total = memref.dim %x, %c0 : memref<?xf32>
  %rows = memref.view %shared[%c0][%total] : memref<?xi8> to memref<?xf32>
  %first = arith.muli %begin, %c4 : index
  %last = arith.muli %end, %c4 : index
  scf.for %i = %first to %last step %c1 {
    %value = memref.load %x[%i] : memref<?xf32>
    memref.store %value, %rows[%i] : memref<?xf32>
  }
  return
}
func.func @double(%x: memref<?xf32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>, %local: memref<?xi8>,
                  %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  %total = memref.dim %out, %c0 : memref<?xf32>
  %rows = memref.view %shared[%c0][%total] : memref<?xi8> to memref<?xf32>
  %scratch = memref.view %local[%c0][] : memref<?xi8> to memref<4xf32>
  scf.for %row = %begin to %end step %c1 {
    %first = arith.muli %row, %c4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %at = arith.addi %first, %i : index
      %value = memref.load %rows[%at] : memref<?xf32>
      memref.store %value, %scratch[%i] : memref<4xf32>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %at = arith.addi %first, %i : index
      %value = memref.load %scratch[%i] : memref<4xf32>
      %doubled = arith.mulf %value, %two : f32
      memref.store %doubled, %out[%at] : memref<?xf32>
    }
  }
  return
}
)mlir";

/// A kernel of rows i32[n] in 0..6 and seg i32[3] in -2..1; the result is rows as numbers.
constexpr const char *kIndexed = R"mlir(
func.func @convert(%rows: memref<?xi32>, %seg: memref<?xi32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>,
                   %local: memref<?xi8>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %row = memref.load %rows[%i] : memref<?xi32>
    %number = arith.sitofp %row : i32 to f32
    memref.store %number, %out[%i] : memref<?xf32>
  }
  return
}
)mlir";

inline KernelPlan indexedPlan() {
  KernelPlan plan;
  plan.name = "convert_rows";
  plan.inputs = {{"rows", ElementType::I32, {{"n", 1}}, IndexRange{0, 6}},
                 {"seg", ElementType::I32, {{"", 3}}, IndexRange{-2, 1}}};
  plan.outputs = {{"output", ElementType::F32, {{"n", 1}}, std::nullopt}};
  plan.sizes = {"n"};
  plan.phases = {{"convert", "convert", {0, 1, {"n"}}}};
  return plan;
}

/// A kernel of x f32[n], from a first query of 0..5; the result is x + q0.
constexpr const char *kFromOrigin = R"mlir(
func.func @shift(%x: memref<?xf32>, %q0: memref<?xi32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>,
                 %local: memref<?xi8>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %q0[%c0] : memref<?xi32>
  %number = arith.sitofp %first : i32 to f32
  scf.for %i = %begin to %end step %c1 {
    %value = memref.load %x[%i] : memref<?xf32>
    %sum = arith.addf %value, %number : f32
    memref.store %sum, %out[%i] : memref<?xf32>
  }
  return
}
)mlir";

inline KernelPlan originPlan() {
  KernelPlan plan;
  plan.name = "from_origin";
  TensorArgument origin{"q0", ElementType::I32, {{"", 1}}, IndexRange{0, 5}};
  origin.origin = 0;
  plan.inputs = {{"x", ElementType::F32, {{"n", 1}}}, origin};
  plan.outputs = {{"output", ElementType::F32, {{"n", 1}}}};
  plan.sizes = {"n"};
  plan.phases = {{"shift", "shift", {0, 1, {"n"}}}};
  return plan;
}

inline KernelPlan doublePlan() {
  KernelPlan plan;
  plan.name = "twice";
  plan.inputs = {{"x", ElementType::F32, {{"n", 1}, {"", 4}}}};
  plan.outputs = {{"output", ElementType::F32, {{"n", 1}, {"", 4}}}};
  plan.sizes = {"n"};
  plan.phases = {{"copy", "copy", {0, 1, {"n"}}}, {"double", "double", {0, 1, {"n"}}}};
  plan.sharedBytes = {0, 64, {"n"}};
  plan.localBytes = 64;
  return plan;
}

/// A kernel of x f32[n] with the results low = x - 1 and high = x + 1.
constexpr const char *kTwoResults = R"mlir(
func.func @spread(%x: memref<?xf32>, %low: memref<?xf32>, %high: memref<?xf32>, %n: index, %shared: memref<?xi8>,
                  %local: memref<?xi8>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %begin to %end step %c1 {
    %value = memref.load %x[%i] : memref<?xf32>
    %below = arith.subf %value, %one : f32
    %above = arith.addf %value, %one : f32
    memref.store %below, %low[%i] : memref<?xf32>
    memref.store %above, %high[%i] : memref<?xf32>
  }
  return
}
)mlir";

inline KernelPlan twoResultsPlan() {
  KernelPlan plan;
  plan.name = "spread_out";
  plan.inputs = {{"x", ElementType::F32, {{"n", 1}}}};
  plan.outputs = {{"low", ElementType::F32, {{"n", 1}}}, {"high", ElementType::F32, {{"n", 1}}}};
  plan.sizes = {"n"};
  plan.phases = {{"spread", "spread", {0, 1, {"n"}}}};
  return plan;
}

inline mlir::OwningOpRef<mlir::ModuleOp> lower(mlir::MLIRContext &context, const char *text) {
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                      mlir::memref::MemRefDialect, mlir::LLVM::LLVMDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return module;
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*module)))
    return {};
  return module;
}

inline llvm::Expected<std::unique_ptr<llvm::Module>> emit(llvm::LLVMContext &context, const KernelPlan &plan,
                                                          const Target &target, const char *text = kPhases) {
  mlir::MLIRContext dialects;
  auto source = lower(dialects, text);
  if (!source)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the test's module does not lower");
  return toLlvmModule(*source, plan, target, context, "0123456789abcdef");
}

/// Returns a target without processor features, so that the tests run on every machine.
inline Target plainTarget() {
  Target target;
  target.name = "plain";
  target.lanes = 4;
  return target;
}

inline std::unique_ptr<JitKernel> jit(const KernelPlan &plan, const char *text = kPhases) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = emit(*context, plan, plainTarget(), text);
  if (!module) {
    ADD_FAILURE() << llvm::toString(module.takeError());
    return nullptr;
  }
  if (llvm::Error error = optimize(**module, plainTarget()))
    ADD_FAILURE() << llvm::toString(std::move(error));
  auto kernel = JitKernel::create(std::move(*module), std::move(context), plan, plainTarget());
  if (!kernel) {
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return nullptr;
  }
  return std::move(*kernel);
}

inline std::string messageOf(const KernelPlan &plan, const char *text = kPhases) {
  llvm::LLVMContext context;
  auto module = emit(context, plan, plainTarget(), text);
  return module ? "" : llvm::toString(module.takeError());
}

} // namespace skewer::testing
