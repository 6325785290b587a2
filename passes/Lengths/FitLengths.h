// Builds one layer for all lengths from the same layer compiled for a few lengths. A size or a number in an index
// expression that differs between them becomes a function of the lengths.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lengths/LengthPolynomial.h"

namespace skewer {

/// Returns the bounds that a kernel declares (`attn.lengths`); empty if it has no lengths.
Lengths boundsOf(mlir::func::FuncOp);

/// Makes the first layer the layer of all lengths. `layers[k]` is the fused layer at fittingPoints(bounds)[k], with
/// axes named by their places; all have gone through the same passes. The first is the layer at the bounds. Each length
/// becomes an index operand of its name (`attn.length`), read in texts as `N[0]`. Results, operands and axes get their
/// extents. Every mask hides positions behind the length, so that all that is said of positions there is proven again.
/// Fails after a diagnostic at the operation that is not the same at all lengths, or that cannot be written for all.
mlir::LogicalResult fitLengths(llvm::ArrayRef<mlir::func::FuncOp> layers);
/// Runs the first part of it: arguments, results and sizes.
mlir::LogicalResult fitSignature(llvm::ArrayRef<mlir::func::FuncOp> layers);

} // namespace skewer
