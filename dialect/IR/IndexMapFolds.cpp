// Folds of the operations that only move elements. A move that changes nothing is its operand. Two moves of the same
// kind are one move. A border that nobody reads is not made. A rearrangement that keeps the row-major order is a
// reshape.
#include "dialect/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns whether each element of the result is the operand's element at the same index.
static bool movesNothing(IndexMapOpInterface op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  if (input.getType() != result.getType())
    return false;
  skewer::attn::IndexMap map = op.getIndexMap();
  if (!map.inside.isConstant(1) || map.subscripts.size() != shapeOf(result).size())
    return false;
  Domain domain;
  auto nameOf = [](size_t dimension) { return "d" + std::to_string(dimension); };
  std::vector<int64_t> shape = shapeOf(result);
  for (size_t k = 0; k < shape.size(); ++k)
    if (shape[k] != kRuntime)
      domain[nameOf(k)] = {0, shape[k] - 1};
  for (size_t k = 0; k < map.subscripts.size(); ++k) {
    Expr index = simplify(map.subscripts[k], domain); // a product of axes is split and merged again
    if (!index.isSymbol() || index.name() != nameOf(k))
      return false;
  }
  return true;
}

static bool allZero(ArrayRef<int64_t> numbers) {
  return llvm::all_of(numbers, [](int64_t number) { return number == 0; });
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  if (allZero(getLow()) && allZero(getHigh()))
    return getInput();
  auto inner = getInput().getDefiningOp<PadOp>();
  if (!inner || !inner.getValue().bitwiseIsEqual(getValue()))
    return {};
  auto sum = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    SmallVector<int64_t> both(a);
    for (auto [total, more] : llvm::zip(both, b))
      total += more;
    return both;
  };
  setLow(sum(inner.getLow(), getLow()));
  setHigh(sum(inner.getHigh(), getHigh()));
  getInputMutable().assign(inner.getInput());
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  getInputMutable().assign(inner.getInput());
  return getResult();
}

/// Folds a slice of a slice: it reads the inner slice's operand at offset + stride * (its own offset + its own stride *
/// index).
static OpFoldResult foldSliceOfSlice(SliceOp slice, SliceOp inner) {
  SmallVector<int64_t> offsets, strides;
  for (size_t k = 0; k < slice.getOffsets().size(); ++k) {
    offsets.push_back(inner.getOffsets()[k] + inner.getStrides()[k] * slice.getOffsets()[k]);
    strides.push_back(inner.getStrides()[k] * slice.getStrides()[k]);
  }
  slice.setOffsets(offsets);
  slice.setStrides(strides);
  slice.getInputMutable().assign(inner.getInput());
  return slice.getResult();
}

/// Folds a slice that takes nothing of the border: it reads the pad's operand.
static OpFoldResult foldSliceOfPad(SliceOp slice, PadOp pad) {
  SmallVector<int64_t> offsets(slice.getOffsets());
  std::vector<int64_t> padded = shapeOf(pad.getInput()), result = shapeOf(slice.getResult());
  for (size_t k = 0; k < offsets.size(); ++k) {
    if (padded[k] == kRuntime)
      continue; // a run-time dimension is taken whole and never padded
    offsets[k] -= pad.getLow()[k];
    int64_t last = offsets[k] + slice.getStrides()[k] * (result[k] - 1);
    if (offsets[k] < 0 || last >= padded[k])
      return {};
  }
  slice.setOffsets(offsets);
  slice.getInputMutable().assign(pad.getInput());
  return slice.getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // In a dimension of one element every stride has the same effect. At the bound of a length, x[:N] may be all of x;
  // the layer must be made of the same operations at all lengths.
  bool isWhole = getInput().getType() == getResult().getType() && allZero(getOffsets());
  if (isWhole && !(*this)->getParentOp()->hasAttr(kLengths))
    return getInput();
  if (auto inner = getInput().getDefiningOp<SliceOp>())
    return foldSliceOfSlice(*this, inner);
  if (auto pad = getInput().getDefiningOp<PadOp>())
    return foldSliceOfPad(*this, pad);
  return {};
}

OpFoldResult SkewOp::fold(FoldAdaptor) {
  // With one position there is only one offset.
  return getInput().getType() == getResult().getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult GatherOp::fold(FoldAdaptor) {
  if (getInput().getType() != getResult().getType())
    return {};
  for (auto [position, index] : llvm::enumerate(getIndices().getValues<APInt>()))
    if (index != position)
      return {};
  return getInput();
}

OpFoldResult RearrangeOp::fold(FoldAdaptor) {
  return movesNothing(cast<IndexMapOpInterface>(getOperation())) ? OpFoldResult(getInput()) : OpFoldResult();
}

/// Returns the axes with more than one element, in row-major order.
static std::vector<std::string> longAxes(const Dimensions &dimensions, const AxisSizes &sizes) {
  std::vector<std::string> axes;
  for (const Dimension &dimension : dimensions)
    llvm::copy_if(dimension.axes, std::back_inserter(axes),
                  [&](const std::string &axis) { return sizes.at(axis) != 1; });
  return axes;
}

/// Returns whether a reshape may have these shapes (reshape_c1, reshape_c2): both hold the same number of elements.
static bool mayReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  auto runtimeIsFirst = [](ArrayRef<int64_t> shape) {
    return shape.empty() || !llvm::is_contained(shape.drop_front(), kRuntime);
  };
  auto first = [](ArrayRef<int64_t> shape) { return shape.empty() || shape[0] != kRuntime ? 1 : kRuntime; };
  auto others = [](ArrayRef<int64_t> shape) {
    int64_t product = 1; // attn_c1 bounds it
    for (int64_t size : shape)
      product *= size == kRuntime ? 1 : size;
    return product;
  };
  return runtimeIsFirst(from) && runtimeIsFirst(to) && first(from) == first(to) && others(from) == others(to);
}

/// Replaces a rearrangement by a reshape if it splits and merges dimensions, and moves only dimensions of one element.
static LogicalResult reshapeInstead(RearrangeOp op, PatternRewriter &rewriter) {
  auto resolved = resolve(op.getSpec(), op.getInput(), op.getSizesAttr(), std::nullopt);
  if (!resolved || !resolved->spec.result || !mayReshape(shapeOf(op.getInput()), shapeOf(op.getResult())) ||
      longAxes(resolved->spec.operands[0], resolved->sizes) != longAxes(*resolved->spec.result, resolved->sizes))
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
  return success();
}

void RearrangeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(reshapeInstead);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs().front()) : OpFoldResult();
}
