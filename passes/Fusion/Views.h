// Recognises views (tensors with another tensor's elements in other places) and tensors that are one number everywhere.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// Returns whether the operation gives one element that is a whole number: a length, or a number computed from lengths,
/// at which a layer is examined. It is not a constant of the layer, such as a scale, because it changes with the
/// lengths.
bool isNumberOfCall(attn::PositionOp);

/// Returns the indices d0, d1, … of a tensor of this rank, over which maps are written.
std::vector<subscript::Expr> mapIndices(size_t rank);
/// Returns whether an einsum only moves elements: one operand, nothing contracted.
bool isView(attn::EinsumOp);
/// Returns the view as a map from result indices d0, d1, …; the result is 0 where its guard does not hold.
std::optional<attn::IndexMap> mapOf(mlir::Operation *);
/// Returns where the map reads, and its condition, at these indices of its result.
attn::IndexMap mapAt(const attn::IndexMap &, llvm::ArrayRef<subscript::Expr> indices);
/// Returns the number that every element of the tensor is, if it is known.
std::optional<double> splatValue(mlir::Value);
/// Returns whether the expression has a text of reasonable length; a large table of constants has none.
bool hasText(const subscript::Expr &);

} // namespace skewer
