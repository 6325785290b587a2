// Fits index expressions to matrices of constant indices by their values alone, so that it recognises indices that were
// computed elsewhere.
#include "passes/Import/FitTable.h"
#include <cmath>

using namespace skewer::subscript;

namespace {
constexpr size_t kMostSteps = 64;

/// Returns an affine expression through the values, where `terms[k]` is the k-th index and runs over `extents[k]`
/// values. The values are row-major over the extents.
std::optional<Expr> fitAffine(const std::vector<int64_t> &values, const std::vector<int64_t> &extents,
                              const std::vector<Expr> &terms) {
  std::vector<int64_t> strides(extents.size(), 1), coefficients(extents.size(), 0);
  for (size_t k = extents.size(); k-- > 1;)
    strides[k - 1] = strides[k] * extents[k];
  Expr fitted = values[0];
  for (size_t k = 0; k < extents.size(); ++k)
    if (extents[k] > 1) {
      if (__builtin_sub_overflow(values[strides[k]], values[0], &coefficients[k]))
        return std::nullopt;
      fitted = fitted + terms[k] * Expr(coefficients[k]);
    }
  for (size_t flat = 0; flat < values.size(); ++flat) {
    __int128 expected = values[0];
    for (size_t k = 0; k < extents.size(); ++k)
      expected += __int128(coefficients[k]) * (int64_t(flat) / strides[k] % extents[k]);
    if (expected != values[flat])
      return std::nullopt;
  }
  return fitted;
}

/// Returns a function of indices[1] - indices[0] that changes at few offsets.
std::optional<Expr> fitSteps(const std::vector<int64_t> &values, const std::vector<int64_t> &shape,
                             const std::vector<Expr> &indices) {
  int64_t queries = shape[0], keys = shape[1];
  std::vector<int64_t> byOffset(queries + keys - 1);
  for (int64_t offset = 1 - queries; offset < keys; ++offset)
    byOffset[offset + queries - 1] = offset < 0 ? values[-offset * keys] : values[offset];
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      if (values[i * keys + j] != byOffset[j - i + queries - 1])
        return std::nullopt;
  Expr offset = indices[1] - indices[0];
  // First tries a run of one slope between constant ends: clamp(offset, a, b), or its mirror image.
  size_t first = 0, last = byOffset.size() - 1;
  while (first + 1 < byOffset.size() && byOffset[first + 1] == byOffset[first])
    ++first;
  while (last > 0 && byOffset[last - 1] == byOffset[last])
    --last;
  if (first < last) {
    int64_t slope = byOffset[first + 1] - byOffset[first];
    bool clamped = true;
    for (size_t k = first; k < last; ++k)
      clamped &= byOffset[k + 1] - byOffset[k] == slope;
    if (clamped) {
      int64_t low = int64_t(first) - (queries - 1), high = int64_t(last) - (queries - 1);
      return clamp(offset, Expr(low), Expr(high)) * Expr(slope) + Expr(byOffset[first] - slope * low);
    }
  }
  Expr sum = byOffset[0];
  size_t steps = 0;
  for (size_t k = 1; k < byOffset.size(); ++k)
    if (byOffset[k] != byOffset[k - 1]) {
      if (++steps > kMostSteps)
        return std::nullopt;
      sum = sum + lessEqual(Expr(int64_t(k) - (queries - 1)), offset) * Expr(byOffset[k] - byOffset[k - 1]);
    }
  return sum;
}

/// Fits a matrix of queries and keys, whose row and column are `indices`.
std::optional<Expr> fitMatrix(const std::vector<int64_t> &values, const std::vector<int64_t> &shape,
                              const std::vector<Expr> &indices) {
  // Both positions lie on maps of the same width.
  for (int64_t width = 2; width < std::max(shape[0], shape[1]); ++width) {
    if (shape[0] % width || shape[1] % width)
      continue;
    std::vector<int64_t> extents = {shape[0] / width, width, shape[1] / width, width};
    std::vector<Expr> parts = {floorDiv(indices[0], width), mod(indices[0], width), floorDiv(indices[1], width),
                               mod(indices[1], width)};
    if (auto affine = fitAffine(values, extents, parts))
      return affine;
  }
  return fitSteps(values, shape, indices);
}
} // namespace

std::optional<Expr> skewer::fitTable(const std::vector<int64_t> &values, const std::vector<int64_t> &shape,
                                     const std::vector<std::string> &symbols) {
  size_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  if (values.empty() || values.size() != elements || shape.size() != symbols.size())
    return std::nullopt;
  std::vector<Expr> terms;
  for (const std::string &symbol : symbols)
    terms.push_back(Expr::symbol(symbol));
  if (auto affine = fitAffine(values, shape, terms))
    return affine;
  if (shape.size() == 2)
    return fitMatrix(values, shape, terms);
  // Try a square matrix that was flattened before the rows are gathered.
  auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(elements))));
  if (shape.size() != 1 || side < 2 || side * side != shape[0])
    return std::nullopt;
  std::vector<Expr> indices = {floorDiv(terms[0], side), mod(terms[0], side)};
  if (auto affine = fitAffine(values, {side, side}, indices))
    return affine;
  return fitMatrix(values, {side, side}, indices);
}
