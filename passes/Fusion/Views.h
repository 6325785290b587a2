// Tensors that are another tensor's elements in other places, and those that are one number everywhere.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// An einsum that only moves elements: one operand, nothing contracted.
bool isView(attn::EinsumOp);
/// The view as a map from result indices d0, d1, … (padding 0 where its guard does not hold).
std::optional<attn::IndexMap> mapOf(mlir::Operation *);
/// The number that every element of the tensor is, if it is known.
std::optional<double> splatValue(mlir::Value);
/// Whether the expression has a text of reasonable length: a large table of constants has none.
bool hasText(const subscript::Expr &);

} // namespace skewer
