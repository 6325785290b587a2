// Tensors that are another tensor's elements in other places, and those that are one number everywhere.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// One element that is a whole number: a length, or what is made of lengths, at which a layer is looked at. It is no
/// number of the layer, such as a scale, since it is another one at other lengths.
bool isNumberOfCall(attn::PositionOp);

/// An einsum that only moves elements: one operand, nothing contracted.
bool isView(attn::EinsumOp);
/// The view as a map from result indices d0, d1, … (padding 0 where its guard does not hold).
std::optional<attn::IndexMap> mapOf(mlir::Operation *);
/// The number that every element of the tensor is, if it is known.
std::optional<double> splatValue(mlir::Value);
/// Whether the expression has a text of reasonable length: a large table of constants has none.
bool hasText(const subscript::Expr &);

} // namespace skewer
