// Infers the types of results from operands and attributes, so that a builder need not give them. If these are
// malformed, nothing is inferred: the verifiers report the error.
#include "dialect/IR/Attn.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

using Types = SmallVectorImpl<Type>;

/// Infers the type of the operand with another shape.
static LogicalResult inferShape(RankedTensorType operand, ArrayRef<int64_t> shape, Types &types) {
  types.assign({RankedTensorType::get(shape, operand.getElementType())});
  return success();
}

static RankedTensorType tensorType(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor pad, Types &types) {
  RankedTensorType input = tensorType(pad.getInput());
  ArrayRef<int64_t> low = pad.getLow(), high = pad.getHigh();
  if (!input || static_cast<size_t>(input.getRank()) != low.size() || low.size() != high.size())
    return failure();
  SmallVector<int64_t> shape(input.getShape());
  for (auto [size, before, after] : llvm::zip(shape, low, high))
    if (!ShapedType::isDynamic(size))
      size += before + after;
  return inferShape(input, shape, types);
}

LogicalResult SkewOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor skew, Types &types) {
  RankedTensorType input = tensorType(skew.getInput());
  if (!input || input.getRank() < 2)
    return failure();
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = shape[shape.size() - 2];
  return inferShape(input, shape, types);
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor gather, Types &types) {
  RankedTensorType input = tensorType(gather.getInput());
  auto indices = dyn_cast<ShapedType>(gather.getIndices().getType());
  uint64_t dimension = gather.getDimension();
  if (!input || !indices || dimension >= static_cast<uint64_t>(input.getRank()))
    return failure();
  SmallVector<int64_t> shape(input.getShape().take_front(dimension));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, input.getShape().drop_front(dimension + 1));
  return inferShape(input, shape, types);
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor concat, Types &types) {
  uint64_t along = concat.getDimension();
  RankedTensorType first = concat.getInputs().empty() ? RankedTensorType() : tensorType(concat.getInputs().front());
  if (!first || along >= static_cast<uint64_t>(first.getRank()))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[along] = 0;
  for (Value input : concat.getInputs()) {
    RankedTensorType type = tensorType(input);
    if (!type || type.getRank() != first.getRank() || type.isDynamicDim(along))
      return failure();
    shape[along] += type.getDimSize(along);
  }
  return inferShape(first, shape, types);
}

LogicalResult LogSumExpOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor rows, Types &types) {
  RankedTensorType input = tensorType(rows.getInput());
  auto axes = parseDimensions(rows.getAxes()), over = parseDimensions(rows.getOver());
  if (!input || !axes || !over || axes->size() != static_cast<size_t>(input.getRank()))
    return failure();
  std::vector<std::string> overAxes; // "jy jx" and "(jy jx)" mean the same
  for (const Dimension &dimension : *over)
    overAxes.insert(overAxes.end(), dimension.axes.begin(), dimension.axes.end());
  auto found = llvm::find_if(*axes, [&](const Dimension &dimension) { return dimension.axes == overAxes; });
  if (overAxes.empty() || found == axes->end())
    return failure();
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + (found - axes->begin()));
  types.assign({RankedTensorType::get(shape, Float32Type::get(context))});
  return success();
}
