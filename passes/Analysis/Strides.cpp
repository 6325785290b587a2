// Derives strides from the coefficients of affine expressions.
#include "passes/Analysis/Strides.h"
#include "dialect/Subscript/Analysis.h"
#include "llvm/ADT/STLExtras.h"

using namespace skewer;
using namespace skewer::subscript;

Expr skewer::rowMajor(llvm::ArrayRef<Expr> subscripts, llvm::ArrayRef<int64_t> shape) {
  return rowMajorIn(std::vector<Expr>(shape.begin(), shape.end()), subscripts);
}

Expr skewer::rowMajorIn(llvm::ArrayRef<Expr> extents, llvm::ArrayRef<Expr> subscripts) {
  Expr flat = 0;
  for (auto [dimension, subscript] : llvm::enumerate(subscripts))
    flat = dimension == 0 ? subscript : flat * extents[dimension] + subscript;
  return flat;
}

std::optional<int64_t> skewer::evenStride(const std::map<std::string, int64_t> &coefficients,
                                          llvm::ArrayRef<std::string> axes, const AxisSizes &sizes) {
  int64_t inner = 1;
  std::optional<int64_t> stride;
  for (const std::string &axis : llvm::reverse(axes)) {
    int64_t size = sizes.at(axis);
    auto found = coefficients.find(axis);
    int64_t step = found == coefficients.end() ? 0 : found->second;
    if (size != 1) {
      if (!stride && step % inner == 0)
        stride = step / inner;
      if (!stride || step != *stride * inner)
        return std::nullopt;
    }
    inner *= size;
  }
  return stride.value_or(0);
}

std::optional<int> skewer::stepAlong(llvm::ArrayRef<Expr> subscripts, const std::string &axis) {
  int step = 0;
  for (auto [dimension, subscript] : llvm::enumerate(subscripts)) {
    if (!symbolsOf(subscript).count(axis))
      continue;
    auto affine = asAffine(subscript);
    if (!affine)
      return std::nullopt;
    auto coefficient = affine->coefficients.find(axis);
    if (coefficient == affine->coefficients.end())
      continue;
    if (dimension + 1 != subscripts.size() || coefficient->second != 1)
      return std::nullopt;
    step = 1;
  }
  return step;
}
