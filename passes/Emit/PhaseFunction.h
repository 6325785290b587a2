// The function of one phase, while it is being filled.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// A phase's func.func and its arguments, see KernelPlan.
struct PhaseFunction {
  mlir::func::FuncOp function;
  mlir::ValueRange inputs, outputs, sizes;
  mlir::Value shared, local, prepared, begin, end; // prepared: null where the kernel has none
};

/// Adds the function `NAME_title` to the module (with a number behind it where that is taken); the builder stands at
/// the start of its body, before its return.
PhaseFunction createPhase(mlir::ImplicitLocOpBuilder &, mlir::ModuleOp, const KernelPlan &, llvm::StringRef title);
/// An extent as a value in the phase.
mlir::Value extentIn(const PhaseFunction &, mlir::ImplicitLocOpBuilder &, const KernelPlan &, const Extent &);
/// The type of an element.
mlir::Type typeOf(ElementType, mlir::MLIRContext *);

} // namespace skewer
