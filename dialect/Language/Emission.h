// Emission: turns a typed kernel into a function of the module, and checks that function. importSource (Language.h)
// calls it after typing.
#pragma once
#include "dialect/IR/Attn.h"
#include "dialect/Language/Typed.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace skewer::language {

/// An einsum of a kernel's text and the operation emitted for it.
struct EmittedEinsum {
  attn::EinsumOp operation;
  const typed::Tensor *tensor;
};
struct EmittedKernel {
  mlir::func::FuncOp function;
  std::vector<EmittedEinsum> einsums; // only those with places, in order
};

/// Emits the kernel's function at the builder's insertion point: one tensor after the other, as typing decided them.
EmittedKernel emitKernel(const typed::Kernel &, mlir::OpBuilder &, llvm::SourceMgr &);

/// Proves that a kernel's finished function reads nothing out of bounds, and reports what it cannot prove. The check
/// looks at the operations, not at the typed tensors, because a mask further up may hide an element; the analysis that
/// fusion uses (SeenElements) finds that mask. If the proof of an einsum needs such a mask, the einsum takes it as its
/// guard. `isWhole` says whether a name is a whole number known at compile time.
void checkKernel(const typed::Kernel &, const EmittedKernel &, Diagnostics &,
                 llvm::function_ref<bool(llvm::StringRef)> isWhole);

} // namespace skewer::language
