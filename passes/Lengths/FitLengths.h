// Builds one layer for all lengths from the same layer compiled for a few lengths. A size or a number in an index
// expression that differs between them becomes a function of the lengths. The pass attn-fit-lengths runs it; the import
// of a text with lengths uses the bounds and the signature.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lengths/LengthPolynomial.h"

namespace skewer {

/// Returns the bounds that a kernel declares (`attn.lengths`); empty if it has no lengths.
Lengths boundsOf(mlir::func::FuncOp);

/// Makes the first layer the layer of all lengths. `layers[k]` is the fused layer at fittingPoints(bounds)[k], with
/// axes named by their places; all have gone through the same passes. The first is the layer at the bounds. Each length
/// becomes an index operand of its name (`attn.length`), which texts read as `N[0]`. Results, operands and axes get
/// their extents. Every mask hides positions behind the length, and every statement about positions is proven again
/// under the new mask. Fails after a diagnostic at an operation that is not the same at all lengths, or that cannot be
/// written for all lengths.
mlir::LogicalResult fitLengths(llvm::ArrayRef<mlir::func::FuncOp> layers);
/// Does only the first part of this: arguments, results and sizes.
mlir::LogicalResult fitSignature(llvm::ArrayRef<mlir::func::FuncOp> layers);

} // namespace skewer
