// Row-major products of axes.
#include "passes/Analysis/AxisProducts.h"
#include "dialect/Subscript/Analysis.h"
#include "dialect/Subscript/PartOfDimension.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::subscript;

bool skewer::usesAny(llvm::ArrayRef<Expr> expressions, const std::vector<std::string> &axes) {
  return llvm::any_of(expressions, [&](const Expr &expression) {
    return llvm::any_of(symbolsOf(expression), [&](auto &symbol) { return llvm::is_contained(axes, symbol); });
  });
}

std::vector<std::string> skewer::axesIn(llvm::ArrayRef<Expr> expressions, const std::vector<std::string> &axes) {
  std::vector<std::string> found;
  for (const std::string &axis : axes)
    if (usesAny(expressions, {axis}))
      found.push_back(axis);
  return found;
}

std::optional<std::vector<Expr>> skewer::splitProduct(const Expr &index, const std::vector<std::string> &axes,
                                                      const AxisSizes &sizes) {
  std::vector<Expr> parts(axes.size());
  int64_t stride = 1;
  for (size_t k = axes.size(); k-- > 0;) {
    Expr quotient = stride == 1 ? index : floorDiv(index, stride);
    if (k == 0) {
      parts[0] = quotient;
      break;
    }
    auto size = sizes.find(axes[k]);
    if (size == sizes.end() || size->second == kRuntime)
      return std::nullopt;
    parts[k] = mod(quotient, size->second);
    if (__builtin_mul_overflow(stride, size->second, &stride))
      return std::nullopt;
  }
  return parts;
}

std::optional<Substitution> skewer::axesAt(const Dimensions &dimensions, llvm::ArrayRef<Expr> indices,
                                           const AxisSizes &sizes) {
  if (dimensions.size() != indices.size())
    return std::nullopt;
  Substitution axes;
  for (auto [dimension, index] : llvm::zip(dimensions, indices)) {
    auto parts = splitProduct(index, dimension.axes, sizes);
    if (!parts)
      return std::nullopt;
    for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
      axes[axis] = part;
  }
  return axes;
}

Dimension skewer::dimensionFor(const Expr &index, const AxisSizes &sizes, int64_t extent) {
  Dimension dimension;
  dimension.index = index;
  if (extent != kRuntime && index.isSymbol()) {
    // The axis reads a part of the dimension, or, under a guard, more than it.
    auto size = sizes.find(index.name());
    if (size != sizes.end() && size->second != kRuntime && size->second != extent) {
      dimension.index = partOfDimension(index, extent);
      return dimension;
    }
  }
  auto affine = asAffine(index, domainOf(sizes));
  if (!affine || affine->constant != 0 || affine->coefficients.empty())
    return dimension;
  std::vector<std::pair<int64_t, std::string>> strides;
  for (const auto &[axis, coefficient] : affine->coefficients)
    strides.push_back({coefficient, axis});
  std::sort(strides.begin(), strides.end(), [](auto &a, auto &b) { return a.first > b.first; });
  int64_t expected = 1;
  for (size_t k = strides.size(); k-- > 0;) {
    if (strides[k].first != expected)
      return dimension;
    auto size = sizes.find(strides[k].second);
    if (size == sizes.end())
      return dimension;
    if (k > 0 && (size->second == kRuntime || __builtin_mul_overflow(expected, size->second, &expected)))
      return dimension;
  }
  auto outermost = sizes.find(strides[0].second);
  int64_t whole;
  if (extent != kRuntime && outermost->second != kRuntime &&
      (__builtin_mul_overflow(strides[0].first, outermost->second, &whole) || whole != extent))
    return dimension;
  for (const auto &entry : strides)
    dimension.axes.push_back(entry.second);
  dimension.index = Expr();
  return dimension;
}

void skewer::addProduct(const std::vector<std::string> &axes, const AxisSizes &sizes, Dimensions &dimensions,
                        llvm::SmallVectorImpl<int64_t> &shape) {
  dimensions.emplace_back().axes = axes;
  int64_t size = 1;
  for (const std::string &axis : axes)
    size = sizes.at(axis) == kRuntime ? mlir::ShapedType::kDynamic : size * sizes.at(axis);
  shape.push_back(size);
}

mlir::RankedTensorType skewer::tensorType(llvm::ArrayRef<int64_t> sizes, mlir::Type element) {
  auto dimension = [](int64_t size) { return size == kRuntime ? mlir::ShapedType::kDynamic : size; };
  return mlir::RankedTensorType::get(llvm::map_to_vector(sizes, dimension), element);
}

AxisSizes skewer::knownSizes(const Dimensions &dimensions, const AxisSizes &sizes) {
  AxisSizes known;
  for (const Dimension &dimension : dimensions)
    for (const std::string &axis : dimension.axes)
      if (int64_t size = sizes.at(axis); size != kRuntime)
        known[axis] = size;
  return known;
}
