// Builds nodes from the operations of a level 1 function, each operation with its own nodes and its own sizes.
#include "codegen/Reference/Builder.h"
#include "codegen/Reference/EinsumNode.h"
#include "codegen/Reference/ElementNodes.h"
#include "dialect/IR/BuiltinFunctions.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

using namespace mlir;

namespace skewer::reference {

namespace {
std::string titleOf(Operation *op) { return op->getName().getStringRef().str(); }

AxisSizes sizesOf(DictionaryAttr attribute) {
  AxisSizes sizes;
  if (attribute)
    for (NamedAttribute entry : attribute)
      if (auto size = dyn_cast<IntegerAttr>(entry.getValue()))
        if (size.getInt() >= 0) // run-time sizes are found elsewhere
          sizes[entry.getName().str()] = size.getInt();
  return sizes;
}

bool isMinusInfinity(Value tensor) {
  FloatAttr number;
  DenseElementsAttr elements;
  if (auto splat = tensor.getDefiningOp<tensor::SplatOp>())
    return isMinusInfinity(splat.getInput());
  if (matchPattern(tensor, m_Constant(&elements)) && elements.isSplat() && isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().isInfinity() && elements.getSplatValue<APFloat>().isNegative();
  return matchPattern(tensor, m_Constant(&number)) && number.getValue().isInfinity() && number.getValue().isNegative();
}

/// Returns whether a condition on values chose -inf for some scores, `scores if a[j] > 0 else -inf`: this hides keys.
/// An -inf in an operand is a number like any other.
bool choosesMinusInfinity(Value scores) {
  SetVector<Operation *> before;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(scores, &before, options);
  return llvm::any_of(before, [](Operation *op) {
    auto apply = dyn_cast<attn::ApplyOp>(op);
    return apply && apply.getFunction() == attn::kChoice &&
           llvm::any_of(apply.getInputs().drop_front(), isMinusInfinity);
  });
}

bool hasTooManyAxes(const Reading &reading) {
  return reading.names.size() > 2 * kMaximumRank || reading.result.size() > kMaximumRank;
}

bool hasAxis(const SpecDimensions &dimensions, const std::string &axis) {
  for (const SpecDimension &dimension : dimensions)
    if (llvm::is_contained(dimension.axes, axis))
      return true;
  return false;
}
} // namespace

Node *NodeBuilder::fail(Operation *op, const std::string &why) {
  failure.report(titleOf(op) + ": " + why);
  return nullptr;
}

std::optional<std::vector<int64_t>> NodeBuilder::shapeOf(Value value) {
  std::vector<int64_t> shape;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > static_cast<int64_t>(kMaximumRank))
    return std::nullopt;
  for (int64_t size : type.getShape()) {
    if (ShapedType::isDynamic(size) && !runtimeSize)
      return std::nullopt;
    shape.push_back(ShapedType::isDynamic(size) ? *runtimeSize : size);
  }
  return shape;
}

/// Returns the unit roundoff of the type of an operation's result; 0 if the operation rounds nothing.
static double unitOf(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto einsum = dyn_cast<attn::EinsumOp>(op);
  if (auto apply = dyn_cast<attn::ApplyOp>(op); apply && attn::isBuiltinFunction(apply.getFunction()))
    return 0;
  bool moves = isa<attn::IndexMapOpInterface, attn::RearrangeOp, attn::ConcatOp, arith::ConstantOp, tensor::SplatOp,
                   arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::ExtFOp, arith::SelectOp, math::AbsFOp,
                   math::FloorOp, math::CeilOp, math::RoundEvenOp, attn::ExtremumOp>(op);
  if (!type || !isa<FloatType>(type.getElementType()) || moves || (einsum && einsum.getInputs().empty()))
    return 0;
  return std::ldexp(1.0, -int(cast<FloatType>(type.getElementType()).getFPMantissaWidth()));
}

/// Returns the distance of two numbers of an operation's result that are smaller than the normal ones of its type.
static double stepOf(Operation *op) {
  auto type = cast<FloatType>(cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
  return llvm::APFloat::getSmallest(type.getFloatSemantics()).convertToDouble();
}

std::vector<Node *> NodeBuilder::fail(const std::string &why) {
  failure.report(why);
  return {};
}

std::vector<Node *> NodeBuilder::build(func::FuncOp function, std::vector<Tensor> inputs) {
  if (!llvm::hasSingleElement(function.getBody()))
    return fail("a kernel has one block");
  Block &block = function.getBody().front();
  if (inputs.size() != block.getNumArguments())
    return fail("the kernel has " + std::to_string(block.getNumArguments()) + " arguments, got " +
                std::to_string(inputs.size()) + " inputs");
  std::set<int64_t> differentSizes;
  for (auto [argument, input] : llvm::zip(block.getArguments(), inputs)) {
    auto stated = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "attn.shape");
    for (size_t d = 0; stated && d < stated.size() && d < input.shape.size(); ++d)
      if (auto name = dyn_cast<StringAttr>(stated[d]))
        runtimeSizes[name.str()] = input.shape[d];
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    std::string name = "input " + std::to_string(argument.getArgNumber());
    if (!type || static_cast<size_t>(type.getRank()) != input.shape.size() || input.shape.size() > kMaximumRank)
      return fail(name + " has the wrong rank");
    for (size_t d = 0; d < input.shape.size(); ++d) {
      if (type.isDynamicDim(d))
        differentSizes.insert(input.shape[d]);
      else if (type.getDimSize(d) != input.shape[d])
        return fail(name + " has size " + std::to_string(input.shape[d]) + " in dimension " + std::to_string(d) +
                    ", the kernel wants " + std::to_string(type.getDimSize(d)));
    }
    if (static_cast<int64_t>(input.values.size()) != input.elements())
      return fail(name + " has " + std::to_string(input.values.size()) + " elements, its shape " +
                  std::to_string(input.elements()));
    if (type.getElementType().isInteger(32)) {
      auto source = std::make_shared<IndexSource>();
      source->shape = input.shape;
      for (double value : input.values)
        source->values.push_back(static_cast<int64_t>(value));
      indices[argument] = std::move(source);
    }
    known[argument] = own(std::make_unique<StoredNode>(input.shape, std::move(input.values), failure));
    known[argument]->isFixed = true;
  }
  if (differentSizes.size() == 1)
    runtimeSize = *differentSizes.begin();
  for (Operation &op : block) {
    if (auto end = dyn_cast<func::ReturnOp>(op)) {
      std::vector<Node *> results;
      for (Value value : end.getOperands())
        results.push_back(known.lookup(value));
      return llvm::is_contained(results, nullptr) ? fail("a result has no value") : results;
    }
    if (op.getNumResults() == 1 && op.getResult(0).getType().isIndex()) {
      if (!integer(&op))
        return fail(&op, "the reference does not know this operation on integers"), std::vector<Node *>();
      continue;
    }
    Node *node = build(&op);
    if (!node)
      return fail(&op, "not interpreted"), std::vector<Node *>();
    known[op.getResult(0)] = node;
    node->roundings.unit = unitOf(&op);
    if (node->roundings.unit > 0)
      node->roundings.step = stepOf(&op);
    node->roundings.stream = nodes.size();
    node->isFixed = node->roundings.unit == 0 && llvm::all_of(op.getOperands(), [&](Value operand) {
                      Node *read = known.lookup(operand);
                      return !read || read->isFixed;
                    });
    // Elements that are needed more than once are computed once.
    bool contraction = isa<attn::EinsumOp, attn::ExtremumOp>(op), onlyReturned = true;
    for (Operation *user : op.getUsers()) {
      onlyReturned &= isa<func::ReturnOp>(user);
      if (isa<attn::EinsumOp>(user) && !node->hasLines())
        node->remember();
    }
    if ((contraction && !onlyReturned) ||
        (!node->hasLines() && !op.getResult(0).hasOneUse() && !isa<arith::ConstantOp>(op)))
      node->remember();
  }
  return fail("the kernel returns nothing");
}

Node *NodeBuilder::build(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return fail(op, "the reference does not know this operation");
  for (Value operand : op->getOperands())
    if (!isa<IndexType>(operand.getType()) && !known.lookup(operand))
      return fail(op, "an operand has no value");
  return llvm::TypeSwitch<Operation *, Node *>(op)
      .Case([&](attn::EinsumOp o) {
        return einsum(op, o.getSpec(), o.getInputs(), o.getSizesAttr(), o.getGuard(), false);
      })
      .Case([&](attn::RearrangeOp o) {
        return einsum(op, o.getSpec(), o->getOperands(), o.getSizesAttr(), std::nullopt, true);
      })
      .Case<attn::SoftmaxOp, attn::LogSumExpOp>([&](auto) { return rows(op); })
      .Case([&](attn::ExtremumOp o) { return extremum(o); })
      .Case([&](attn::PositionOp o) { return position(o); })
      .Case<attn::PadOp, attn::ReshapeOp, attn::SliceOp, attn::SkewOp, attn::GatherOp>(
          [&](auto) { return movement(op); })
      .Case([&](attn::ConcatOp o) { return concat(o); })
      .Case([&](attn::ApplyOp o) { return apply(o); })
      .Case([&](arith::ConstantOp o) { return constant(o); })
      .Case([&](tensor::SplatOp o) { return splat(o); })
      .Default([&](Operation *) { return pointwise(op); });
}

IndexSources NodeBuilder::sourcesOf(Operation *op) {
  IndexSources sources;
  auto names = op->getAttrOfType<ArrayAttr>("index_names");
  size_t first = op->getNumOperands() - (names ? names.size() : 0); // index operands are the last operands
  for (size_t k = 0; names && k < names.size(); ++k)
    if (auto source = indices.find(op->getOperand(first + k)); source != indices.end())
      sources[cast<StringAttr>(names[k]).str()] = source->second;
  return sources;
}

void NodeBuilder::addSizesOfReads(const Expression &expression, const IndexSources &sources, AxisSizes &sizes) {
  for (const Expression::Element &element : expression.elements) {
    auto source = sources.find(element.name);
    for (size_t d = 0; source != sources.end() && d < element.subscripts.size(); ++d) {
      const Expression::Node &at = expression.nodes[element.subscripts[d]];
      if (at.operation == Expression::Operation::Axis && d < source->second->shape.size())
        sizes.insert({expression.names[at.value], source->second->shape[d]});
    }
  }
}

Node *NodeBuilder::einsum(Operation *op, StringRef text, ValueRange inputs, DictionaryAttr sizesAttribute,
                          std::optional<StringRef> guard, bool moves) {
  auto parsed = parseSpec(std::string_view(text));
  if (!parsed)
    return fail(op, parsed.reason);
  Spec &spec = *parsed;
  if (inputs.empty() && spec.operands.size() == 1 && spec.operands[0].empty())
    spec.operands.clear();
  std::vector<Node *> operands;
  std::vector<std::vector<int64_t>> shapes;
  for (Value input : inputs) {
    operands.push_back(known.lookup(input));
    shapes.push_back(operands.back()->shape);
  }
  AxisSizes sizes = sizesOf(sizesAttribute);
  // An axis that no operand has, alone or in a product, gets its size from the result.
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  for (size_t d = 0; type && d < spec.result.size() && d < static_cast<size_t>(type.getRank()); ++d) {
    const std::vector<std::string> &axes = spec.result[d].axes;
    if (axes.size() != 1 || sizes.count(axes[0]))
      continue;
    if (llvm::any_of(spec.operands, [&](const SpecDimensions &o) { return hasAxis(o, axes[0]); }))
      continue;
    if (!type.isDynamicDim(d))
      sizes[axes[0]] = type.getDimSize(d);
    else if (runtimeSize)
      sizes[axes[0]] = *runtimeSize;
  }
  IndexSources sources = sourcesOf(op);
  AxisSizes read;
  for (const SpecDimensions &operand : spec.operands)
    for (const SpecDimension &dimension : operand)
      addSizesOfReads(dimension.index, sources, read);
  for (const auto &[axis, size] : read)
    if (llvm::none_of(spec.operands, [&, &axis = axis](const SpecDimensions &o) { return hasAxis(o, axis); }))
      sizes.insert({axis, size});
  auto solved = solveSizes(spec, shapes, std::move(sizes));
  if (!solved)
    return fail(op, solved.reason);
  auto reading = Reading::of(spec, *solved, guard ? guard->str() : "", sources);
  if (!reading)
    return fail(op, reading.reason);
  if (hasTooManyAxes(*reading))
    return fail(op, "too many axes");
  if (moves && operands.size() != 1)
    return fail(op, "a rearrangement has one operand");
  return own(std::make_unique<EinsumNode>(std::move(*reading), std::move(operands), moves, titleOf(op), failure));
}

/// Returns the reading of one tensor of this shape with this spec; `guard` may be empty.
static OrError<Reading> readingOf(const Spec &spec, const std::vector<int64_t> &shape, DictionaryAttr sizesAttribute,
                                  const std::string &guard, const IndexSources &sources) {
  auto sizes = solveSizes(spec, {shape}, sizesOf(sizesAttribute));
  return sizes ? Reading::of(spec, *sizes, guard, sources) : Error{sizes.reason};
}

/// Returns the reading of one tensor by the list of its axes, which are the result's too.
static OrError<Reading> readingOfAxes(StringRef axes, const std::vector<int64_t> &shape, DictionaryAttr sizes,
                                      const std::string &guard, const IndexSources &sources) {
  auto spec = parseSpec(std::string_view(axes), /*compact=*/false);
  if (!spec)
    return Error{spec.reason};
  spec->result = spec->operands[0];
  spec->hasResult = true;
  return readingOf(*spec, shape, sizes, guard, sources);
}

Node *NodeBuilder::rows(Operation *op) {
  auto text = [&](StringRef name) {
    auto attribute = op->getAttrOfType<StringAttr>(name);
    return attribute ? attribute.str() : std::string();
  };
  Node *input = known.lookup(op->getOperand(0));
  auto reading = readingOfAxes(text("axes"), input->shape, op->getAttrOfType<DictionaryAttr>("sizes"), text("mask"),
                               sourcesOf(op));
  if (!reading)
    return fail(op, reading.reason);
  auto over = parseSpec(text("over"), /*compact=*/false);
  if (!over)
    return fail(op, over.reason);
  std::vector<std::string> wanted;
  for (const SpecDimension &dimension : over->operands[0])
    wanted.insert(wanted.end(), dimension.axes.begin(), dimension.axes.end());
  auto found = llvm::find_if(reading->result, [&](const std::vector<size_t> &places) {
    return llvm::equal(places, wanted,
                       [&](size_t place, const std::string &axis) { return reading->names[place] == axis; });
  });
  if (found == reading->result.end())
    return fail(op, "no dimension is made of '" + text("over") + "'");
  size_t dimension = found - reading->result.begin();
  if (isa<attn::SoftmaxOp>(op))
    return own(std::make_unique<SoftmaxNode>(std::move(*reading), input, dimension,
                                             choosesMinusInfinity(op->getOperand(0)), titleOf(op), failure));
  std::vector<int64_t> shape = input->shape;
  shape.erase(shape.begin() + static_cast<int64_t>(dimension));
  return own(
      std::make_unique<LogSumExpNode>(std::move(shape), std::move(*reading), input, dimension, titleOf(op), failure));
}

Node *NodeBuilder::extremum(attn::ExtremumOp op) {
  auto spec = parseSpec(std::string_view(op.getSpec()));
  if (!spec)
    return fail(op, spec.reason);
  Node *input = known.lookup(op.getInput());
  auto reading = readingOf(*spec, input->shape, op.getSizesAttr(), "", {});
  if (!reading)
    return fail(op, reading.reason);
  if (hasTooManyAxes(*reading))
    return fail(op, "too many axes");
  return own(std::make_unique<ExtremumNode>(std::move(*reading), input, op.getLeast(), titleOf(op), failure));
}

std::optional<std::vector<int64_t>> NodeBuilder::shapeOf(attn::PositionOp op, const SpecDimensions &axes,
                                                         const AxisSizes &read) {
  auto type = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (!type || type.hasStaticShape() || static_cast<size_t>(type.getRank()) != axes.size())
    return shapeOf(op.getResult());
  std::vector<int64_t> shape = type.getShape().vec();
  auto stated = op->getAttrOfType<ArrayAttr>("attn.shape");
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!type.isDynamicDim(d))
      continue;
    const std::vector<std::string> &names = axes[d].axes;
    auto name = stated && d < stated.size() ? dyn_cast<StringAttr>(stated[d]) : StringAttr();
    auto known = name ? runtimeSizes.find(name.str()) : runtimeSizes.end();
    auto size = names.size() == 1 ? read.find(names[0]) : read.end();
    if (known != runtimeSizes.end())
      shape[d] = known->second;
    else if (size != read.end())
      shape[d] = size->second;
    else
      return shapeOf(op.getResult());
  }
  return shape;
}

Node *NodeBuilder::position(attn::PositionOp op) {
  auto expression = parseExpression(std::string_view(op.getExpression()));
  if (!expression)
    return fail(op, expression.reason);
  IndexSources sources = sourcesOf(op);
  if (auto error = expression->bindReads(sources))
    return fail(op, error->reason);
  auto axes = parseSpec(std::string_view(op.getAxes()), /*compact=*/false);
  if (!axes)
    return fail(op, axes.reason);
  AxisSizes read;
  addSizesOfReads(*expression, sources, read);
  auto shape = shapeOf(op, axes->operands[0], read);
  if (!shape)
    return fail(op, "the result's run-time size is not known");
  auto reading = readingOfAxes(op.getAxes(), *shape, op.getSizesAttr(), "", {});
  if (!reading)
    return fail(op, reading.reason);
  if (auto error = expression->bind(reading->names))
    return fail(op, error->reason);
  return own(std::make_unique<PositionNode>(*shape, std::move(*reading), std::move(*expression), titleOf(op), failure));
}

Node *NodeBuilder::pointwise(Operation *op) {
  const Function *function = findFunction(titleOf(op));
  if (!function || op->getNumOperands() == 0)
    return fail(op, "the reference does not know this operation");
  std::vector<Node *> inputs;
  for (Value operand : op->getOperands()) {
    inputs.push_back(known.lookup(operand));
    if (inputs.back()->shape != inputs.front()->shape)
      return fail(op, "the operands' shapes differ");
  }
  return own(std::make_unique<PointwiseNode>(*function, std::move(inputs), failure));
}

Node *NodeBuilder::apply(attn::ApplyOp op) {
  const attn::ElementFunction *function = attn::findElementFunction(op.getContext(), op.getFunction());
  std::vector<Node *> inputs;
  for (Value operand : op.getInputs()) {
    inputs.push_back(known.lookup(operand));
    if (inputs.back()->shape != inputs.front()->shape)
      return fail(op, "the operands' shapes differ");
  }
  if (!function || inputs.empty())
    return fail(op, "the function is not known");
  std::vector<int64_t> shape = inputs.front()->shape;
  return own(std::make_unique<ApplyNode>(std::move(shape), *function, std::move(inputs), failure));
}

Node *NodeBuilder::concat(attn::ConcatOp op) {
  std::vector<Node *> inputs;
  std::vector<int64_t> shape;
  size_t along = op.getDimension();
  for (Value operand : op.getInputs()) {
    inputs.push_back(known.lookup(operand));
    const std::vector<int64_t> &sizes = inputs.back()->shape;
    if (shape.empty()) {
      shape = sizes;
      if (along >= shape.size())
        return fail(op, "there is no such dimension");
      continue;
    }
    if (sizes.size() != shape.size())
      return fail(op, "the ranks differ");
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != along && sizes[d] != shape[d])
        return fail(op, "the operands' shapes differ in dimension " + std::to_string(d));
    shape[along] += sizes[along];
  }
  if (inputs.empty())
    return fail(op, "there are no operands");
  return own(std::make_unique<ConcatNode>(std::move(shape), std::move(inputs), along, failure));
}

Node *NodeBuilder::movement(Operation *op) {
  Node *input = known.lookup(op->getOperand(0));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
  auto whole = [&](size_t result, size_t operand) { // a run-time size that passes unchanged
    if (ShapedType::isDynamic(shape[result]) && operand < input->shape.size())
      shape[result] = input->shape[operand];
  };
  if (auto pad = dyn_cast<attn::PadOp>(op)) {
    for (size_t d = 0; d < shape.size(); ++d)
      shape[d] = input->shape[d] + pad.getLow()[d] + pad.getHigh()[d];
    return own(std::make_unique<PadNode>(shape, input, pad.getLow().vec(), toDouble(pad.getValue()), failure));
  }
  if (auto gather = dyn_cast<attn::GatherOp>(op)) {
    size_t dimension = gather.getDimension(), rank = cast<ShapedType>(gather.getIndices().getType()).getRank();
    for (size_t d = 0; d < shape.size(); ++d)
      if (d < dimension || d >= dimension + rank)
        whole(d, d < dimension ? d : d - rank + 1);
    std::vector<int64_t> rows;
    for (const APInt &row : gather.getIndices().getValues<APInt>())
      rows.push_back(row.getSExtValue());
    return own(std::make_unique<GatherNode>(shape, input, dimension, rank, std::move(rows), failure));
  }
  if (isa<attn::ReshapeOp>(op)) {
    int64_t fixed = 1;
    size_t runtime = shape.size();
    for (size_t d = 0; d < shape.size(); ++d)
      if (ShapedType::isDynamic(shape[d]))
        runtime = d;
      else
        fixed *= shape[d];
    if (runtime < shape.size() && fixed > 0)
      shape[runtime] = input->elements() / fixed;
    auto node = own(std::make_unique<ReshapeNode>(shape, input, failure));
    return node->elements() == input->elements() ? node : fail(op, "the number of elements changes");
  }
  for (size_t d = 0; d < shape.size(); ++d)
    whole(d, d);
  if (shape.size() != input->shape.size())
    return fail(op, "the rank changes");
  if (auto slice = dyn_cast<attn::SliceOp>(op))
    return own(std::make_unique<SliceNode>(shape, input, slice.getOffsets().vec(), slice.getStrides().vec(), failure));
  if (shape.size() < 2)
    return fail(op, "a skew needs two dimensions");
  return own(std::make_unique<SkewNode>(shape, input, failure));
}

} // namespace skewer::reference
