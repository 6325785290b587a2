// How the place that an operand is read at moves with the axes.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <optional>
#include <string>

namespace skewer {

/// The element of an operand of that shape at these subscripts, row-major. The first size is not asked.
subscript::Expr rowMajor(llvm::ArrayRef<subscript::Expr> subscripts, llvm::ArrayRef<int64_t> shape);
/// Where sizes are known at run time only, of extents that are said by expressions.
subscript::Expr rowMajorIn(llvm::ArrayRef<subscript::Expr> extents, llvm::ArrayRef<subscript::Expr> subscripts);

/// How far a place moves from position to position of the product of `axes`, row by row, given how far it moves with
/// each axis. Axes of one element count for nothing. Nothing where the positions do not lie evenly.
std::optional<int64_t> evenStride(const std::map<std::string, int64_t> &coefficients, llvm::ArrayRef<std::string> axes,
                                  const subscript::AxisSizes &);

/// 0: the axis does not move the place; 1: from element to element of the last dimension. Nothing where it moves in
/// another way.
std::optional<int> stepAlong(llvm::ArrayRef<subscript::Expr> subscripts, const std::string &axis);

} // namespace skewer
