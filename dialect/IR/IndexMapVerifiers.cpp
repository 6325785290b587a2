// Verifiers of the operations that only move elements: pad, reshape, slice, skew, gather, rearrange, concat.
#include "dialect/IR/Verification.h"
#include "dialect/Subscript/Arithmetic.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

/// attn_c5: checks that the result has the operand's element type, since elements move unchanged.
static LogicalResult verifyElementType(Operation *op) {
  Type from = cast<ShapedType>(op->getOperand(0).getType()).getElementType();
  Type to = cast<ShapedType>(op->getResult(0).getType()).getElementType();
  if (from != to)
    return op->emitOpError() << "moves elements of type " << from << " to a result of " << to
                             << "; expected the same type (attn_c5)";
  return success();
}

static LogicalResult verifyMove(Operation *op) {
  return failure(failed(verifyShapes(op)) || failed(verifyElementType(op)));
}

namespace {
/// A list of numbers with one entry for each dimension, and its name.
struct PerDimension {
  StringRef name;
  ArrayRef<int64_t> numbers;
};
} // namespace

/// Checks a move that keeps the number of dimensions, and the lengths of its lists.
static LogicalResult verifyMoveOf(Operation *op, ArrayRef<PerDimension> lists, StringRef constraint) {
  if (failed(verifyMove(op)))
    return failure();
  size_t rank = shapeOf(op->getOperand(0)).size(), resultRank = shapeOf(op->getResult(0)).size();
  for (const PerDimension &list : lists)
    if (list.numbers.size() != rank)
      return op->emitOpError() << "has " << list.numbers.size() << " entries in '" << list.name
                               << "', expected one for each of the " << rank << " dimensions (" << constraint << ")";
  if (rank != resultRank)
    return op->emitOpError() << "result has " << resultRank << " dimensions, expected " << rank << " as the operand ("
                             << constraint << ")";
  return success();
}

static std::string sizeText(int64_t size) {
  return size == kRuntime ? "run-time size" : "size " + std::to_string(size);
}

LogicalResult PadOp::verify() {
  if (failed(verifyMoveOf(*this, {{"low", getLow()}, {"high", getHigh()}}, "pad_c1")))
    return failure();
  std::vector<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  for (size_t k = 0; k < input.size(); ++k) {
    int64_t low = getLow()[k], high = getHigh()[k];
    if (low < 0 || high < 0)
      return emitOpError() << "dimension " << k << " is padded by " << low << " and " << high
                           << "; expected no negative number, attn.slice removes elements (pad_c2)";
    if (input[k] == kRuntime && (low || high))
      return emitOpError() << "dimension " << k << " has run-time size and cannot be padded (pad_c3)";
    auto border = checkedAdd(low, high);
    auto padded = input[k] == kRuntime ? std::optional<int64_t>(kRuntime)
                  : border             ? checkedAdd(input[k], *border)
                                       : std::nullopt;
    if (!padded || *padded != result[k])
      return emitOpError() << "dimension " << k << " of the result has " << sizeText(result[k]) << ", expected "
                           << sizeText(input[k]) << " + " << low << " + " << high << " (pad_c4)";
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (failed(verifyMove(*this)))
    return failure();
  std::vector<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  for (const auto *shape : {&input, &result})
    for (size_t k = 1; k < shape->size(); ++k)
      if ((*shape)[k] == kRuntime)
        return emitOpError() << "dimension " << k << " of " << printShape(*shape)
                             << " has run-time size; only the first may (reshape_c1)";
  bool inputRuntime = !input.empty() && input[0] == kRuntime, resultRuntime = !result.empty() && result[0] == kRuntime;
  if (inputRuntime != resultRuntime)
    return emitOpError() << "reshapes " << printShape(input) << " to " << printShape(result)
                         << "; a first dimension of run-time size must stay (reshape_c1)";
  auto elements = [](const std::vector<int64_t> &shape) {
    int64_t product = 1; // verifyShapes has bounded it
    for (int64_t size : shape)
      product *= size == kRuntime ? 1 : size;
    return product;
  };
  if (elements(input) != elements(result))
    return emitOpError() << "reshapes " << printShape(input) << ", " << elements(input) << " elements, to "
                         << printShape(result) << ", " << elements(result) << " elements (reshape_c2)";
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(verifyMoveOf(*this, {{"offsets", getOffsets()}, {"strides", getStrides()}}, "slice_c1")))
    return failure();
  std::vector<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  for (size_t k = 0; k < input.size(); ++k) {
    int64_t offset = getOffsets()[k], stride = getStrides()[k];
    if (offset < 0 || stride < 1)
      return emitOpError() << "dimension " << k << " starts at " << offset << " with stride " << stride
                           << "; expected an offset of at least 0 and a stride of at least 1 (slice_c2)";
    if (input[k] == kRuntime || result[k] == kRuntime) {
      if (input[k] != result[k] || offset != 0 || stride != 1)
        return emitOpError() << "dimension " << k << " has run-time size and must be taken whole (slice_c3)";
      continue;
    }
    auto reach = checkedMultiply(stride, result[k] - 1);
    auto last = reach ? checkedAdd(offset, *reach) : std::nullopt;
    if (!last || *last >= input[k])
      return emitOpError() << "dimension " << k << " is read at "
                           << (last ? std::to_string(*last) : std::string("an index beyond 64 bits"))
                           << ", but has indices 0.." << input[k] - 1 << " (slice_c4)";
  }
  return success();
}

LogicalResult SkewOp::verify() {
  if (failed(verifyMove(*this)))
    return failure();
  std::vector<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  size_t rank = input.size();
  if (rank < 2 || result.size() != rank)
    return emitOpError() << "skews " << printShape(input) << " to " << printShape(result)
                         << "; expected the same number of dimensions, at least 2 (skew_c1)";
  int64_t length = input[rank - 2];
  if (length == kRuntime || input[rank - 1] != 2 * length - 1)
    return emitOpError() << "operand ends in " << printShape(ArrayRef<int64_t>(input).take_back(2))
                         << "; expected l x (2l - 1) with l known at compile time"
                         << (length == kRuntime ? std::string() : ", here " + printShape({length, 2 * length - 1}))
                         << " (skew_c2)";
  std::vector<int64_t> expected(input);
  expected[rank - 1] = length;
  if (result != expected)
    return emitOpError() << "result has shape " << printShape(result) << ", expected " << printShape(expected)
                         << " (skew_c3)";
  return success();
}

LogicalResult GatherOp::verify() {
  if (failed(verifyMove(*this)))
    return failure();
  std::vector<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  int64_t dimension = getDimension();
  if (dimension < 0 || dimension >= int64_t(input.size()))
    return emitOpError() << "gathers from dimension " << dimension << " of an operand with " << input.size()
                         << " dimensions (gather_c1)";
  if (input[dimension] == kRuntime)
    return emitOpError() << "dimension " << dimension << " has run-time size; only a compile-time size can be "
                         << "gathered from (gather_c2)";
  auto indicesType = dyn_cast<ShapedType>(getIndices().getType());
  if (!indicesType || !indicesType.hasStaticShape() || !getIndices().getElementType().isSignlessInteger(64))
    return emitOpError() << "indices have type " << getIndices().getType() << "; expected a tensor of i64 (gather_c3)";
  int64_t position = 0;
  for (const APInt &index : getIndices().getValues<APInt>()) {
    if (index.isNegative() || index.sge(input[dimension]))
      return emitOpError() << "index " << index.getSExtValue() << " at position " << position
                           << " is outside dimension " << dimension << ", indices 0.." << input[dimension] - 1
                           << " (gather_c3)";
    ++position;
  }
  std::vector<int64_t> expected(input.begin(), input.begin() + dimension);
  expected.insert(expected.end(), indicesType.getShape().begin(), indicesType.getShape().end());
  expected.insert(expected.end(), input.begin() + dimension + 1, input.end());
  if (result != expected)
    return emitOpError() << "result has shape " << printShape(result) << ", expected " << printShape(expected)
                         << " (gather_c4)";
  return success();
}

LogicalResult RearrangeOp::verify() {
  static const SubscriptConstraints constraints = {"rearrange_c1", "rearrange_c2", "rearrange_c3", "rearrange_c1"};
  if (failed(verifyMove(*this)) || failed(verifySizes(*this, getSizesAttr())))
    return failure();
  auto spec = verifySpecWithResult(*this, getSpec(), constraints.parses);
  if (!spec)
    return failure();
  for (const Dimensions &dimensions : spec->operands)
    for (const Dimension &dimension : dimensions)
      if (!dimension.isProduct() && !dimension.index.isConstant(0))
        return emitOpError() << "spec reads the operand at " << skewer::subscript::print(dimension.index)
                             << "; expected axes or products of axes, attn.slice picks elements (rearrange_c1)";
  auto sizes = verifyOperands(*this, *spec, shapesOf(getInput()), sizesFrom(getSizesAttr()), constraints);
  if (!sizes || failed(verifyResult(*this, *spec->result, *sizes, getResult().getType(), "rearrange_c4")))
    return failure();
  for (const std::string &axis : spec->contracted())
    if ((*sizes)[axis] != 1)
      return emitOpError() << "drops the axis '" << axis << "' of " << sizeText((*sizes)[axis])
                           << "; only an axis of size 1 can be dropped (rearrange_c5)";
  return success();
}

LogicalResult ConcatOp::verify() {
  if (failed(verifyShapes(*this)))
    return failure();
  std::vector<int64_t> result = shapeOf(getResult());
  int64_t along = getDimension(), total = 0;
  if (getInputs().empty())
    return emitOpError() << "has no operands, expected at least one (concat_c1)";
  if (along < 0 || along >= static_cast<int64_t>(result.size()))
    return emitOpError() << "dimension " << along << " is none of the " << result.size()
                         << " dimensions, counted from 0 (concat_c1)";
  for (auto [k, input] : llvm::enumerate(getInputs())) {
    std::vector<int64_t> shape = shapeOf(input);
    if (cast<ShapedType>(input.getType()).getElementType() != getResult().getType().getElementType())
      return emitOpError() << "operand " << k << " has type " << input.getType() << ", the result "
                           << getResult().getType() << "; expected the same element type (concat_c2)";
    if (shape.size() != result.size())
      return emitOpError() << "operand " << k << " has " << shape.size() << " dimensions, expected " << result.size()
                           << " as the result (concat_c2)";
    for (size_t d = 0; d < shape.size(); ++d)
      if (static_cast<int64_t>(d) != along && shape[d] != result[d])
        return emitOpError() << "dimension " << d << " of operand " << k << " has " << sizeText(shape[d])
                             << ", expected " << sizeText(result[d]) << " as the result (concat_c3)";
    if (shape[along] == kRuntime || result[along] == kRuntime)
      return emitOpError() << "dimension " << along
                           << " has run-time size; tensors are joined along a compile-time size"
                           << " (concat_c4)";
    total += shape[along];
  }
  if (total != result[along])
    return emitOpError() << "dimension " << along << " of the result has " << sizeText(result[along])
                         << ", but the operands have " << total << " together (concat_c4)";
  return success();
}
