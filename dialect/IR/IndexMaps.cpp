// The index maps of the operations that only move elements: the operand's index as a function of the result's index.
#include "dialect/IR/IndexMaps.h"
#include "dialect/IR/SeenElements.h"
#include <set>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Returns the result's index in dimension k.
Expr resultIndex(size_t k) { return Expr::symbol("d" + std::to_string(k)); }

std::vector<Expr> resultIndices(size_t rank) {
  std::vector<Expr> indices;
  for (size_t k = 0; k < rank; ++k)
    indices.push_back(resultIndex(k));
  return indices;
}

/// One run of a reshape: the operand's dimensions [inputBegin, inputEnd) hold the same elements, in the same order, as
/// the result's [resultBegin, resultEnd).
struct Run {
  size_t inputBegin, inputEnd, resultBegin, resultEnd;
};

/// Cuts a reshape into the shortest runs, so that dimensions that it leaves alone stay single symbols.
std::vector<Run> runsOf(ArrayRef<int64_t> input, ArrayRef<int64_t> result) {
  std::vector<Run> runs;
  size_t i = 0, r = 0;
  while (i < input.size() || r < result.size()) {
    Run run{i, i, r, r};
    int64_t inputSize = i < input.size() ? input[i++] : 1, resultSize = r < result.size() ? result[r++] : 1;
    while (inputSize != resultSize) {
      if (inputSize < resultSize && i < input.size())
        inputSize *= input[i++];
      else if (resultSize < inputSize && r < result.size())
        resultSize *= result[r++];
      else
        break; // the numbers of elements differ: the verifier refuses this
    }
    run.inputEnd = i, run.resultEnd = r;
    runs.push_back(run);
  }
  return runs;
}

/// Returns the row-major position of the result's index inside a run.
Expr flatResult(const Run &run, ArrayRef<int64_t> result) {
  Expr flat = 0;
  for (size_t k = run.resultBegin; k < run.resultEnd; ++k)
    flat = k == run.resultBegin ? resultIndex(k) : flat * Expr(result[k]) + resultIndex(k);
  return flat;
}

/// Splits a row-major position into indices of dimensions of these sizes. The first dimension longer than 1 needs no
/// remainder because the position is inside. Only the first size may be a run-time size.
std::vector<Expr> split(const Expr &flat, ArrayRef<int64_t> sizes) {
  if (sizes.size() == 1)
    return {flat};
  size_t first = 0;
  while (first + 1 < sizes.size() && sizes[first] == 1)
    ++first;
  std::vector<Expr> parts(sizes.size(), Expr(0));
  int64_t stride = 1;
  for (size_t k = sizes.size(); k-- > first;) {
    if (sizes[k] == 1)
      continue;
    Expr quotient = stride == 1 ? flat : floorDiv(flat, Expr(stride));
    parts[k] = k == first ? quotient : mod(quotient, Expr(sizes[k]));
    if (k > first)
      stride *= sizes[k];
  }
  return parts;
}
} // namespace

skewer::attn::IndexMap skewer::attn::indexMapOfPad(ArrayRef<int64_t> input, ArrayRef<int64_t> low,
                                                   ArrayRef<int64_t> high, double value) {
  IndexMap map;
  map.padding = value;
  for (size_t k = 0; k < input.size(); ++k) {
    Expr index = resultIndex(k) - Expr(low[k]);
    if (low[k] > 0)
      map.inside = logicalAnd(map.inside, lessEqual(Expr(0), index));
    if (high[k] > 0)
      map.inside = logicalAnd(map.inside, less(index, Expr(input[k])));
    map.subscripts.push_back(std::move(index));
  }
  return map;
}

skewer::attn::IndexMap PadOp::getIndexMap() {
  return indexMapOfPad(shapeOf(getInput()), getLow(), getHigh(), getValue().convertToDouble());
}

std::vector<Expr> skewer::attn::reshapedIndices(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  std::vector<Expr> indices;
  for (const Run &run : runsOf(to, from)) {
    ArrayRef<int64_t> sizes = to.slice(run.inputBegin, run.inputEnd - run.inputBegin);
    // Run-time sizes are first in both shapes and form a run of their own, so their index passes unchanged.
    std::vector<Expr> parts = split(flatResult(run, from), sizes);
    indices.insert(indices.end(), parts.begin(), parts.end());
  }
  return indices;
}

skewer::attn::IndexMap skewer::attn::indexMapOfReshape(ArrayRef<int64_t> input, ArrayRef<int64_t> result) {
  IndexMap map;
  map.subscripts = reshapedIndices(result, input);
  return map;
}

skewer::attn::IndexMap ReshapeOp::getIndexMap() {
  return indexMapOfReshape(shapeOf(getInput()), shapeOf(getResult()));
}

skewer::attn::IndexMap skewer::attn::indexMapOfSlice(ArrayRef<int64_t> offsets, ArrayRef<int64_t> strides) {
  IndexMap map;
  for (size_t k = 0; k < offsets.size(); ++k)
    map.subscripts.push_back(resultIndex(k) * Expr(strides[k]) + Expr(offsets[k]));
  return map;
}

skewer::attn::IndexMap SliceOp::getIndexMap() { return indexMapOfSlice(getOffsets(), getStrides()); }

skewer::attn::IndexMap skewer::attn::indexMapOfSkew(ArrayRef<int64_t> result) {
  IndexMap map;
  map.subscripts = resultIndices(result.size());
  size_t key = result.size() - 1, query = result.size() - 2;
  map.subscripts[key] = resultIndex(key) - resultIndex(query) + Expr(result[key] - 1);
  return map;
}

skewer::attn::IndexMap SkewOp::getIndexMap() { return indexMapOfSkew(shapeOf(getResult())); }

skewer::attn::IndexMap GatherOp::getIndexMap() {
  IndexMap map;
  auto values = std::make_shared<std::vector<int64_t>>();
  for (const APInt &index : getIndices().getValues<APInt>())
    values->push_back(index.getSExtValue());
  ArrayRef<int64_t> indicesShape = cast<ShapedType>(getIndices().getType()).getShape();
  size_t dimension = getDimension(), rank = shapeOf(getInput()).size();
  for (size_t k = 0; k < rank; ++k) {
    if (k != dimension) {
      map.subscripts.push_back(resultIndex(k < dimension ? k : k + indicesShape.size() - 1));
      continue;
    }
    Expr row = 0;
    for (size_t n = 0; n < indicesShape.size(); ++n)
      row = n == 0 ? resultIndex(k) : row * Expr(indicesShape[n]) + resultIndex(k + n);
    map.subscripts.push_back(Expr::table(std::move(values), std::move(row)));
  }
  return map;
}

skewer::attn::IndexMap RearrangeOp::getIndexMap() {
  IndexMap map;
  auto resolved = resolve(getSpec(), getInput(), getSizesAttr(), std::nullopt);
  if (!resolved || !resolved->spec.result)
    return map;
  Substitution axisFromResult;
  for (size_t k = 0; k < resolved->spec.result->size(); ++k) {
    const std::vector<std::string> &axes = (*resolved->spec.result)[k].axes;
    SmallVector<int64_t> sizes;
    for (const std::string &axis : axes)
      sizes.push_back(resolved->sizes[axis]);
    std::vector<Expr> parts = split(resultIndex(k), sizes);
    for (size_t n = 0; n < axes.size(); ++n)
      axisFromResult[axes[n]] = parts[n];
  }
  // Dropped dimensions have size 1.
  for (const std::string &axis : resolved->contracted)
    axisFromResult[axis] = 0;
  for (const Expr &index : resolved->subscripts[0])
    map.subscripts.push_back(substitute(index, axisFromResult));
  return map;
}
