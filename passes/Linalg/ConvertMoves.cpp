// Converts einsums, extrema, index maps, concatenations, positions and plugins' functions.
#include "dialect/IR/ElementFunction.h"
#include "dialect/IR/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Linalg/ConvertOps.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;

void skewer::addExtents(ImplicitLocOpBuilder &b, const subscript::Dimensions &dimensions, Value operand,
                        std::map<std::string, Value> &extents) {
  auto type = cast<RankedTensorType>(operand.getType());
  for (auto [d, dimension] : llvm::enumerate(dimensions))
    if (dimension.isAxis() && type.isDynamicDim(d) && !extents.count(dimension.axes[0]))
      extents[dimension.axes[0]] = tensor::DimOp::create(b, operand, d);
}

std::vector<Expr> skewer::subscriptsOf(const subscript::Dimensions &dimensions, const subscript::AxisSizes &sizes) {
  std::vector<Expr> result;
  for (const subscript::Dimension &dimension : dimensions)
    result.push_back(subscript::flatIndex(dimension, sizes));
  return result;
}

/// Adds the sizes that only run-time index operands tell: sizes of axes that are a whole subscript of a read.
static void addExtentsOfReads(ImplicitLocOpBuilder &b, ArrayRef<Expr> expressions, const attn::IndexOperands &indices,
                              std::map<std::string, Value> &extents) {
  for (const Expr &expression : expressions)
    for (const Expr &read : subscript::readNodes(expression))
      for (auto [d, at] : llvm::enumerate(read.operands()))
        if (auto found = indices.find(read.name());
            found != indices.end() && at.isSymbol() && !extents.count(at.name()))
          if (cast<RankedTensorType>(found->second.getType()).isDynamicDim(d))
            extents[at.name()] = tensor::DimOp::create(b, found->second, d);
}

static RankedTensorType resultType(Operation *op) { return cast<RankedTensorType>(op->getResult(0).getType()); }

Converted skewer::convertEinsum(attn::EinsumOp op, ImplicitLocOpBuilder &b, Structured &linalg) {
  attn::ResolvedEinsum resolved = attn::resolve(op);
  if (!resolved.spec.result)
    return linalg.failure = "the einsum has no result to name its dimensions", Converted();
  std::map<std::string, Value> extents;
  std::vector<Reading> readings;
  for (auto [operand, dimensions, subscripts] :
       llvm::zip(op.getInputs(), resolved.spec.operands, resolved.subscripts)) {
    addExtents(b, dimensions, operand, extents);
    readings.push_back({operand, subscripts});
    addExtentsOfReads(b, subscripts, attn::indicesOf(op), extents);
  }
  for (const auto &[axis, size] : resolved.sizes)
    if (size == subscript::kRuntime && !extents.count(axis))
      return linalg.failure = "axis '" + axis + "' has a run-time size that no operand says", Converted();
  LoopNest nest(*resolved.spec.result, resolved.contracted, resolved.sizes, extents);
  Type element = resultType(op).getElementType(), sums = sumType(element);
  Value result =
      linalg.make(nest, sums, 0.0, readings, resolved.guard.has_value(),
                  [&](ImplicitLocOpBuilder &body, ValueRange elements, Value before, IndexEmitter &index) -> Value {
                    Value product = castReal(body, elements.front(), sums);
                    for (Value factor : elements.drop_front())
                      product = arith::MulFOp::create(body, product, castReal(body, factor, sums));
                    if (resolved.guard) {
                      Value inside = index.emitPredicate(nest.over(*resolved.guard));
                      if (!inside)
                        return {};
                      product = arith::SelectOp::create(body, inside, product, realConstant(body, sums, 0));
                    }
                    return arith::AddFOp::create(body, before, product);
                  });
  return {linalg.convert(result, element)};
}

Converted skewer::convertExtremum(attn::ExtremumOp op, ImplicitLocOpBuilder &b, Structured &linalg) {
  attn::ResolvedEinsum resolved = attn::resolve(op);
  if (!resolved.spec.result)
    return linalg.failure = "the extremum has no result to name its dimensions", Converted();
  std::map<std::string, Value> extents;
  addExtents(b, resolved.spec.operands[0], op.getInput(), extents);
  LoopNest nest(*resolved.spec.result, resolved.contracted, resolved.sizes, extents);
  Type element = resultType(op).getElementType(), wide = sumType(element);
  Value result =
      linalg.make(nest, wide, op.getLeast() ? INFINITY : -INFINITY, {{op.getInput(), resolved.subscripts[0]}}, false,
                  [&](ImplicitLocOpBuilder &body, ValueRange elements, Value before, IndexEmitter &) {
                    Value one = castReal(body, elements[0], wide);
                    return op.getLeast() ? arith::MinimumFOp::create(body, before, one).getResult()
                                         : arith::MaximumFOp::create(body, before, one).getResult();
                  });
  return {linalg.convert(result, element)};
}

Converted skewer::convertIndexMap(attn::IndexMapOpInterface op, ImplicitLocOpBuilder &b, Structured &linalg) {
  Value input = op->getOperand(0);
  RankedTensorType type = resultType(op);
  attn::IndexMap map = op.getIndexMap();
  auto from = cast<RankedTensorType>(input.getType());
  if (map.subscripts.size() != static_cast<size_t>(from.getRank()))
    return linalg.failure = "the index map does not resolve", Converted();
  // A dimension of run-time size is read whole: it has the length of the operand's dimension.
  LoopNest nest(b, b.getLoc(), from, input);
  subscript::Dimensions dimensions;
  subscript::AxisSizes sizes;
  std::map<std::string, Value> extents;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    std::string axis = "d" + std::to_string(d);
    dimensions.push_back({{axis}, {}});
    sizes[axis] = type.isDynamicDim(d) ? subscript::kRuntime : type.getDimSize(d);
    if (type.isDynamicDim(d))
      for (auto [place, subscript] : llvm::enumerate(map.subscripts))
        if (subscript.isSymbol() && subscript.name() == axis && from.isDynamicDim(place))
          extents[axis] = nest.extents[place];
    if (type.isDynamicDim(d) && !extents[axis])
      return linalg.failure = "dimension " + std::to_string(d) + " has a run-time size that no operand says",
             Converted();
  }
  LoopNest loops(dimensions, {}, sizes, extents);
  bool isWhole = map.inside.isConstant(1);
  return {linalg.make(loops, type.getElementType(), std::nullopt, {{input, map.subscripts}}, !isWhole,
                      [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &index) -> Value {
                        if (isWhole)
                          return elements[0];
                        Value inside = index.emitPredicate(loops.over(map.inside));
                        if (!inside)
                          return {};
                        Value outside = realConstant(body, elements[0].getType(), map.padding);
                        return arith::SelectOp::create(body, inside, elements[0], outside);
                      })};
}

Converted skewer::convertConcat(attn::ConcatOp op, ImplicitLocOpBuilder &b) {
  RankedTensorType type = op.getResult().getType();
  SmallVector<Value> dynamic;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1));
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      dynamic.push_back(tensor::DimOp::create(b, op.getInputs().front(), d));
  Value result = tensor::EmptyOp::create(b, type.getShape(), type.getElementType(), dynamic);
  int64_t along = static_cast<int64_t>(op.getDimension()), begin = 0;
  for (Value input : op.getInputs()) {
    offsets[along] = b.getIndexAttr(begin);
    result =
        tensor::InsertSliceOp::create(b, input, result, offsets, tensor::getMixedSizes(b, b.getLoc(), input), strides);
    begin += cast<RankedTensorType>(input.getType()).getDimSize(along);
  }
  return {result};
}

Converted skewer::convertPosition(attn::PositionOp op, ImplicitLocOpBuilder &b, Structured &linalg) {
  auto dimensions = subscript::parseDimensions(std::string_view(op.getAxes()));
  auto expression = subscript::parse(std::string_view(op.getExpression()));
  RankedTensorType type = op.getResult().getType();
  if (!dimensions || !expression || !type.hasStaticShape())
    return linalg.failure = "positions of run-time size have no operand to tell it", Converted();
  subscript::Einsum spec;
  spec.operands = {*dimensions};
  auto sizes = subscript::resolveSizes(spec, {attn::shapeOf(type)}, attn::sizesFrom(op.getSizesAttr()));
  if (!sizes)
    return linalg.failure = "sizes of axes do not resolve", Converted();
  LoopNest nest(*dimensions, {}, *sizes, {});
  return {linalg.make(nest, type.getElementType(), std::nullopt, {}, false,
                      [&](ImplicitLocOpBuilder &body, ValueRange, Value before, IndexEmitter &index) -> Value {
                        Value number = index.emit(nest.over(*expression));
                        if (!number)
                          return {};
                        number = arith::IndexCastOp::create(body, body.getI64Type(), number);
                        return arith::SIToFPOp::create(body, before.getType(), number);
                      })};
}

Converted skewer::convertApply(attn::ApplyOp op, ImplicitLocOpBuilder &b, Structured &linalg) {
  const attn::ElementFunction *function = attn::findElementFunction(op.getContext(), op.getFunction());
  if (!function)
    return linalg.failure = attn::explainMissingFunction(op.getContext(), op.getFunction()), Converted();
  RankedTensorType type = op.getResult().getType();
  LoopNest nest(b, b.getLoc(), type, op.getInputs().front());
  std::vector<Expr> whole;
  for (const std::string &symbol : nest.symbols)
    whole.push_back(Expr::symbol(symbol));
  std::vector<Reading> readings;
  for (Value input : op.getInputs())
    readings.push_back({input, whole});
  return {linalg.make(nest, type.getElementType(), std::nullopt, readings, false,
                      [&](ImplicitLocOpBuilder &body, ValueRange elements, Value, IndexEmitter &) -> Value {
                        SmallVector<Value> arguments; // the function takes f32
                        for (Value element : elements)
                          arguments.push_back(castReal(body, element, body.getF32Type()));
                        return function->emit(body, body.getLoc(), arguments);
                      })};
}
