// Writing a summand down as attn.einsum, and which part of a function the fusion passes rewrite.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Fusion/Summands.h"

namespace skewer {

/// attn.einsum that computes the summand, whose symbols are `names` (one for each dimension of `type`) and the
/// contracted axes. A dimension that the subscripts take apart by division is named by its axes: (iy ix). Null if the
/// summand is scaled, has no operand or a factor that is a function of positions, reads a table of constants, or needs
/// a size that is known at run time only.
mlir::Value buildEinsum(mlir::OpBuilder &, const Summand &, const std::vector<std::string> &names,
                        mlir::RankedTensorType type);

/// The operations, in order, that the score of a softmax is made from: back from every softmax's input (without a
/// softmax: from the function's results) through arithmetic, index maps and einsums, and through the index maps of the
/// einsums' operands.
std::vector<mlir::Operation *> scoreOperations(mlir::func::FuncOp);

/// Removes what has no use any more.
void eraseDead(mlir::func::FuncOp);

/// Simplification reads axes of one element at the constant 0. Puts those of `axes` (each of one element) that are in
/// no dimension back: in a dimension that is read at 0 and has one element (`extents`), the last axis in the last such
/// place, else as a factor of a product. Which of several such places an axis gets makes no difference.
void restoreSingles(subscript::Dimensions &, const std::vector<int64_t> &extents, std::vector<std::string> axes);

/// A tensor of this one's type, each element of it this number.
mlir::Value numberLike(mlir::OpBuilder &, mlir::Location, mlir::Value tensor, double number);

} // namespace skewer
