// The text of an einsum whose operands are read through index expressions:
//     "b h (iy ix) d, (jy - iy + 13) d -> b h (iy ix) (jy jx)"
// and of a plain list of dimensions ("b h i j"). Plain C++.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer::subscript {

/// One dimension of an operand or a result: a product of axes, row-major ("(iy ix)", or just "d"), or an index
/// expression ("(jy - iy + 13)"). `axes` is empty for an index expression and for the literal 1 ("1", index constant
/// 0).
struct Dimension {
  std::vector<std::string> axes;
  Expr index;                // meaningful where `axes` is empty
  size_t begin = 0, end = 0; // byte range in the text
  bool isAxis() const { return axes.size() == 1; }
  bool isProduct() const { return !axes.empty(); }
};
using Dimensions = std::vector<Dimension>;

struct Einsum {
  std::vector<Dimensions> operands;
  std::optional<Dimensions> result; // absent: "q, k" without an arrow
  /// Returns every axis named, in order of first appearance.
  std::vector<std::string> axes() const;
  /// Returns the axes of the operands that the result lacks, in order of first appearance.
  std::vector<std::string> contracted() const;
};

/// Parses an einsum. Spaces separate dimensions. "bhij" (one word of several letters, all lower case, none of them a
/// declared name) is split into letters if every operand and the result have this form ("bhid,bhjd->bhij").
Parsed<Einsum> parseEinsum(std::string_view text);
Parsed<Dimensions> parseDimensions(std::string_view text);
std::string print(const Dimensions &);
/// Returns the axes that the products name, without the axes in index expressions.
std::set<std::string> axesOf(const Dimensions &);
std::string print(const Einsum &);

/// The sizes of axes. A run-time size is `kRuntime`.
constexpr int64_t kRuntime = INT64_MIN;
using AxisSizes = std::map<std::string, int64_t>;

/// Finds each axis's size from the operands' shapes and `given`. A lone axis has the size of its dimension; one unknown
/// factor of a product is found by division. Errors: an axis with two sizes, a product that does not divide, an axis
/// without a size. Positions in the error are bytes of the einsum's text.
Parsed<AxisSizes> resolveSizes(const Einsum &, const std::vector<std::vector<int64_t>> &shapes,
                               const AxisSizes &given);

/// Returns the index that a dimension stands for: the expression, or the row-major flattening of its axes.
Expr flatIndex(const Dimension &, const AxisSizes &);
/// Returns the domain 0 .. size-1 for every axis whose size is known at compile time.
Domain domainOf(const AxisSizes &);

} // namespace skewer::subscript
