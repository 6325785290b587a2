// An axis that reads a part of a dimension.
#pragma once
#include "dialect/Subscript/Expr.h"

namespace skewer::subscript {

/// Returns the index of an axis that reads the first elements of a longer dimension: min(j, extent - 1), which is j at
/// each of them. In an einsum the bare axis "j" would be the whole dimension, and tell its size.
inline Expr partOfDimension(const Expr &axis, int64_t extent) { return min(axis, Expr(extent - 1)); }

} // namespace skewer::subscript
