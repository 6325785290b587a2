// Dimensions that are products of axes: from an index to the axes' indices, and from an expression to the axes that it
// is made of.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer {

/// The indices of the axes of a product that is read at `index`, row-major. Nothing if a size is needed and unknown.
std::optional<std::vector<subscript::Expr>>
splitProduct(const subscript::Expr &index, const std::vector<std::string> &axes, const subscript::AxisSizes &);
/// The dimension that says `index`: an axis, a product of axes in row-major order, or an index expression. An axis
/// alone stands for a whole dimension: where `extent`, the dimension's size, is known and another, `index` is said
/// otherwise.
subscript::Dimension dimensionFor(const subscript::Expr &index, const subscript::AxisSizes &,
                                  int64_t extent = subscript::kRuntime);
/// Adds the dimension that is the product of the axes to a tensor's: its size is dynamic where one of them has a run-time
/// size.
void addProduct(const std::vector<std::string> &axes, const subscript::AxisSizes &, subscript::Dimensions &,
                llvm::SmallVectorImpl<int64_t> &shape);
/// The sizes of the dimensions' axes that are known when the layer is compiled.
subscript::AxisSizes knownSizes(const subscript::Dimensions &, const subscript::AxisSizes &);

} // namespace skewer
