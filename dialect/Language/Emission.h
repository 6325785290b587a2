// From a typed kernel to a function of the module.
#pragma once
#include "dialect/IR/Attn.h"
#include "dialect/Language/Typed.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace skewer::language {

/// An einsum of a kernel's text and its operation.
struct EmittedEinsum {
  attn::EinsumOp operation;
  const typed::Tensor *tensor;
};
struct EmittedKernel {
  mlir::func::FuncOp function;
  std::vector<EmittedEinsum> einsums; // those with places, in their order
};

/// Writes the kernel's function where the builder stands: its tensors one after the other, as they were decided.
EmittedKernel emitKernel(const typed::Kernel &, mlir::OpBuilder &, llvm::SourceMgr &);

/// Proves that a kernel's finished function reads nothing outside, and reports what it cannot prove. It looks at the
/// operations, not at the typed tensors, because what hides an element, a mask further up, is found by the analysis
/// that fusion uses as well (SeenElements). An einsum whose proof needs such a mask takes it as its guard.
/// `isWhole` says whether a name is that of a whole number known at compile time.
void checkKernel(const typed::Kernel &, const EmittedKernel &, Diagnostics &,
                 llvm::function_ref<bool(llvm::StringRef)> isWhole);

} // namespace skewer::language
