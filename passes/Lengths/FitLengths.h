// One layer for all lengths, from the same layer compiled for a few: what differs between them, a size or a number in
// an index expression, is a function of the lengths, and is said so.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lengths/LengthPolynomial.h"

namespace skewer {

/// The bounds that a kernel declares (`attn.lengths`); empty where it has no lengths.
Lengths boundsOf(mlir::func::FuncOp);

/// `layers[k]` is the fused layer at fittingPoints(bounds)[k], its axes named by their places; all have gone through
/// the same passes. The first, which is that of the bounds, becomes the layer of all lengths: each length is an index
/// operand of its name (`attn.length`), read in texts as `N[0]`; results, operands and axes say their extents; and
/// every mask hides what is behind the length, so that all that is said of positions there is proven again. Fails after
/// a diagnostic at the operation that is not the same at all lengths, or that cannot be said.
mlir::LogicalResult fitLengths(llvm::ArrayRef<mlir::func::FuncOp> layers);
/// The first part of it: arguments, results and sizes.
mlir::LogicalResult fitSignature(llvm::ArrayRef<mlir::func::FuncOp> layers);

} // namespace skewer
