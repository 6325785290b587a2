// The function of one phase, while its body is emitted. The lowerings for processors and GPUs create phases with it, so
// that all have the signature of KernelPlan.h, which the C entries call.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// A phase's func.func and its arguments, see KernelPlan.
struct PhaseFunction {
  mlir::func::FuncOp function;
  mlir::ValueRange inputs, outputs, sizes;
  mlir::Value shared, local, prepared, begin, end; // `prepared` is null if the kernel has no prepared memory
};

/// Adds the function `NAME_title` to the module (with a number behind the name if it is taken), and moves the builder
/// to the start of its body, before its return.
PhaseFunction createPhase(mlir::ImplicitLocOpBuilder &, mlir::ModuleOp, const KernelPlan &, llvm::StringRef title);
/// Returns an extent as a value in the phase.
mlir::Value extentIn(const PhaseFunction &, mlir::ImplicitLocOpBuilder &, const KernelPlan &, const Extent &);

} // namespace skewer
