// Helpers of the fusion passes: they write a summand as attn.einsum, and select the operations that the passes rewrite.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Fusion/Summands.h"

namespace skewer {

/// Builds an attn.einsum that computes the summand. The symbols of the summand are `names` (one for each dimension of
/// `type`) and the contracted axes. If the subscripts divide a dimension, the result names it by its axes: (iy ix).
/// Returns null if the summand is scaled, has no operand, has a factor that is a function of positions, reads a table
/// of constants, or needs a size that is known at run time only.
mlir::Value buildEinsum(mlir::OpBuilder &, const Summand &, const std::vector<std::string> &names,
                        mlir::RankedTensorType type);

/// Returns the axes whose sizes the shapes of an einsum's operands do not tell.
std::vector<std::string> untoldAxes(const subscript::Einsum &);
/// Returns the sizes that an einsum must state because its operands do not tell them. `all` has the size of each axis.
/// A run-time size cannot be stated.
subscript::AxisSizes untoldSizes(const subscript::Einsum &, const subscript::AxisSizes &all);

/// Returns, in order, the operations that compute the scores of the function. It walks back from the input of each
/// softmax (from the function's results if there is no softmax) through arithmetic, index maps and einsums, and through
/// the index maps of the einsums' operands.
std::vector<mlir::Operation *> scoreOperations(mlir::func::FuncOp);

/// Removes operations without uses.
void eraseDead(mlir::func::FuncOp);

/// Puts back axes that simplification removed, since it reads an axis of one element at the constant 0. Each of `axes`
/// has one element. An axis that is in no dimension goes into a dimension that is read at 0 and has one element
/// (`extents`), the last axis into the last such dimension. If no such dimension is left, the axis becomes a factor of
/// a product. Any of several such places is correct.
void restoreSingles(subscript::Dimensions &, const std::vector<int64_t> &extents, std::vector<std::string> axes);

/// Returns a tensor of the type of `tensor` with `number` as each element.
mlir::Value numberLike(mlir::OpBuilder &, mlir::Location, mlir::Value tensor, double number);

} // namespace skewer
