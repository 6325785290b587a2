// Computes how the place at which an operand is read moves with the axes.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <optional>
#include <string>

namespace skewer {

/// Returns the row-major place of the element of an operand of this shape at these subscripts. The first size is not
/// used.
subscript::Expr rowMajor(llvm::ArrayRef<subscript::Expr> subscripts, llvm::ArrayRef<int64_t> shape);
/// Returns the same for extents that are expressions, since some sizes are known only at run time.
subscript::Expr rowMajorIn(llvm::ArrayRef<subscript::Expr> extents, llvm::ArrayRef<subscript::Expr> subscripts);

/// Returns the stride of a place from position to position of the row-major product of `axes`, given its stride along
/// each axis. Axes of one element are ignored. Returns nothing if the positions are not evenly spaced.
std::optional<int64_t> evenStride(const std::map<std::string, int64_t> &coefficients, llvm::ArrayRef<std::string> axes,
                                  const subscript::AxisSizes &);

/// Returns 0 if the axis does not move the place, 1 if it moves the place to the next element of the last dimension,
/// and nothing if it moves the place in another way.
std::optional<int> stepAlong(llvm::ArrayRef<subscript::Expr> subscripts, const std::string &axis);

} // namespace skewer
