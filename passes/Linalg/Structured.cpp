#include "passes/Linalg/Structured.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Analysis/AxisProducts.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;

static std::string symbolOf(size_t dimension) { return "d" + std::to_string(dimension); }
static int64_t sizeOf(int64_t size) { return size == subscript::kRuntime ? ShapedType::kDynamic : size; }

LoopNest::LoopNest(const subscript::Dimensions &result, const std::vector<std::string> &summed,
                   const subscript::AxisSizes &axisSizes, const std::map<std::string, Value> &known) {
  auto add = [&](std::string symbol, int64_t size, const std::string &axis) {
    symbols.push_back(std::move(symbol));
    sizes.push_back(sizeOf(size));
    auto extent = known.find(axis);
    extents.push_back(extent == known.end() || size != subscript::kRuntime ? Value() : extent->second);
  };
  for (const subscript::Dimension &dimension : result) {
    std::string symbol = symbolOf(parallel++);
    int64_t size = 1;
    for (const std::string &axis : dimension.axes)
      size = dimension.isAxis() ? axisSizes.at(axis) : size * axisSizes.at(axis);
    if (auto parts = splitProduct(Expr::symbol(symbol), dimension.axes, axisSizes))
      for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
        axes[axis] = part;
    add(symbol, size, dimension.isAxis() ? dimension.axes[0] : "");
  }
  for (const std::string &axis : summed) {
    std::string symbol = "sum_" + axis; // differs from all names of dimensions
    axes[axis] = Expr::symbol(symbol);
    add(symbol, axisSizes.at(axis), axis);
  }
}

LoopNest::LoopNest(OpBuilder &builder, Location location, RankedTensorType type, Value like) {
  for (int64_t d = 0; d < type.getRank(); ++d) {
    symbols.push_back(symbolOf(parallel++));
    sizes.push_back(type.getDimSize(d));
    extents.push_back(type.isDynamicDim(d) ? tensor::DimOp::create(builder, location, like, d).getResult() : Value());
  }
}

subscript::Domain LoopNest::domain() const {
  subscript::Domain result;
  for (auto [symbol, size] : llvm::zip(symbols, sizes))
    if (!ShapedType::isDynamic(size))
      result[symbol] = {0, size - 1};
  return result;
}

Expr LoopNest::over(const Expr &expression) const {
  return subscript::simplify(subscript::substitute(expression, axes), domain());
}
std::vector<Expr> LoopNest::over(const std::vector<Expr> &expressions) const {
  std::vector<Expr> result;
  for (const Expr &expression : expressions)
    result.push_back(over(expression));
  return result;
}

Type skewer::sumType(Type element) {
  return element.getIntOrFloatBitWidth() < 32 ? Type(Float32Type::get(element.getContext())) : element;
}

Value skewer::castReal(ImplicitLocOpBuilder &b, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(b, type, value);
  return arith::TruncFOp::create(b, type, value);
}

Value skewer::realConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

/// Returns the number of the loop that the expression is; nothing if it is something else.
static std::optional<unsigned> loopOf(const Expr &expression, const LoopNest &nest) {
  if (!expression.isSymbol())
    return std::nullopt;
  auto found = llvm::find(nest.symbols, expression.name());
  return found == nest.symbols.end() ? std::nullopt : std::optional<unsigned>(found - nest.symbols.begin());
}

/// Returns the indexing map of an operand that is read at plain loops, in their whole length; nothing for other
/// operands.
static std::optional<AffineMap> mapOf(const Reading &reading, const std::vector<Expr> &subscripts, const LoopNest &nest,
                                      MLIRContext *context) {
  SmallVector<AffineExpr> results;
  auto type = cast<RankedTensorType>(reading.tensor.getType());
  for (auto [size, subscript] : llvm::zip(type.getShape(), subscripts)) {
    auto loop = loopOf(subscript, nest);
    if (!loop || nest.sizes[*loop] != size)
      return std::nullopt;
    results.push_back(getAffineDimExpr(*loop, context));
  }
  return AffineMap::get(nest.loops(), 0, results, context);
}

/// Clamps an index to 0 … size-1.
static Value clamped(ImplicitLocOpBuilder &b, Value index, int64_t size) {
  Value zero = arith::ConstantIndexOp::create(b, 0), last = arith::ConstantIndexOp::create(b, size - 1);
  return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, index, zero), last);
}

Value Structured::extract(ImplicitLocOpBuilder &body, IndexEmitter &emitter, const Reading &reading,
                          const std::vector<Expr> &subscripts, bool mayLeave) {
  SmallVector<Value> places;
  auto type = cast<RankedTensorType>(reading.tensor.getType());
  for (auto [size, subscript] : llvm::zip(type.getShape(), subscripts)) {
    Value place = emitter.emit(subscript);
    if (!place) {
      failure = emitter.failure();
      return {};
    }
    places.push_back(mayLeave && !ShapedType::isDynamic(size) ? clamped(body, place, size) : place);
  }
  return tensor::ExtractOp::create(body, reading.tensor, places);
}

Structured::Inputs Structured::inputsOf(const LoopNest &nest, ArrayRef<Reading> readings) {
  MLIRContext *context = b.getContext();
  Inputs inputs;
  SmallVector<bool> hasSize(nest.loops(), false); // whether some operand's shape tells the loop's length
  for (unsigned loop = 0; loop < nest.parallel; ++loop)
    hasSize[loop] = true;
  for (const Reading &reading : readings) {
    inputs.subscripts.push_back(nest.over(reading.subscripts));
    auto map = mapOf(reading, inputs.subscripts.back(), nest, context);
    inputs.argumentOf.push_back(map ? static_cast<int64_t>(inputs.tensors.size()) : -1);
    if (!map)
      continue;
    inputs.tensors.push_back(reading.tensor);
    inputs.maps.push_back(*map);
    for (AffineExpr result : map->getResults())
      hasSize[cast<AffineDimExpr>(result).getPosition()] = true;
  }
  // A loop whose length no operand tells gets an operand that is there for its shape alone.
  for (unsigned loop = nest.parallel; loop < nest.loops(); ++loop) {
    if (hasSize[loop])
      continue;
    SmallVector<Value> dynamic;
    if (nest.extents[loop])
      dynamic.push_back(nest.extents[loop]);
    inputs.tensors.push_back(tensor::EmptyOp::create(b, ArrayRef<int64_t>{nest.sizes[loop]}, b.getF32Type(), dynamic));
    inputs.maps.push_back(AffineMap::get(nest.loops(), 0, {getAffineDimExpr(loop, context)}, context));
  }
  return inputs;
}

/// Returns a reader of run-time index operands, at subscripts that it clamps: see loadsFrom.
static IndexEmitter::Read readsOf(ImplicitLocOpBuilder &body, const attn::IndexOperands &indices) {
  return [&](const std::string &name, ValueRange at) -> Value {
    auto found = indices.find(name);
    if (found == indices.end())
      return {};
    SmallVector<Value> places;
    for (auto [d, index] : llvm::enumerate(at)) {
      Value size = tensor::DimOp::create(body, found->second, d);
      Value zero = arith::ConstantIndexOp::create(body, 0), one = arith::ConstantIndexOp::create(body, 1);
      Value last = arith::SubIOp::create(body, size, one);
      places.push_back(arith::MinSIOp::create(body, arith::MaxSIOp::create(body, index, zero), last));
    }
    Value element = tensor::ExtractOp::create(body, found->second, places);
    return arith::IndexCastOp::create(body, body.getIndexType(), element);
  };
}

void Structured::fill(Block &block, const LoopNest &nest, const Inputs &inputs, ArrayRef<Reading> readings,
                      bool mayLeave, PointBody point) {
  ImplicitLocOpBuilder body(b.getLoc(), b.getContext());
  body.setInsertionPointToEnd(&block);
  std::map<std::string, Value> symbols;
  for (auto [loop, symbol] : llvm::enumerate(nest.symbols))
    symbols[symbol] = linalg::IndexOp::create(body, loop);
  IndexEmitter emitter(body, body.getLoc(), symbols, readsOf(body, indices));
  SmallVector<Value> elements;
  for (auto [n, reading] : llvm::enumerate(readings)) {
    Value element = inputs.argumentOf[n] >= 0 ? Value(block.getArgument(inputs.argumentOf[n]))
                                              : extract(body, emitter, reading, inputs.subscripts[n], mayLeave);
    if (!element)
      element = realConstant(body, body.getF32Type(), 0); // `failure` says why, and the result is not kept
    elements.push_back(castReal(body, element, sumType(element.getType())));
  }
  Value before = block.getArguments().back(), result = point(body, elements, before, emitter);
  if (!result) {
    failure = emitter.failure().empty() ? "an index expression is unknown here" : emitter.failure();
    result = before;
  }
  linalg::YieldOp::create(body, castReal(body, result, before.getType()));
}

Value Structured::build(const LoopNest &nest, Value start, ArrayRef<Reading> readings, bool mayLeave, PointBody point) {
  Inputs inputs = inputsOf(nest, readings);
  SmallVector<AffineMap> maps(inputs.maps);
  SmallVector<AffineExpr> places; // empty if the result is a single number
  for (unsigned loop = 0; loop < nest.parallel; ++loop)
    places.push_back(b.getAffineDimExpr(loop));
  maps.push_back(AffineMap::get(nest.loops(), 0, places, b.getContext()));
  SmallVector<utils::IteratorType> iterators(nest.parallel, utils::IteratorType::parallel);
  iterators.resize(nest.loops(), utils::IteratorType::reduction);
  // The body is filled after the operation is in its module, because constant tables are added to the module.
  auto generic = linalg::GenericOp::create(b, start.getType(), inputs.tensors, start, maps, iterators);
  Block &block = generic.getRegion().emplaceBlock();
  for (Value operand : generic->getOperands())
    block.addArgument(getElementTypeOrSelf(operand), b.getLoc());
  fill(block, nest, inputs, readings, mayLeave, point);
  return generic.getResult(0);
}

Value Structured::make(const LoopNest &nest, Type element, std::optional<double> start, ArrayRef<Reading> readings,
                       bool mayLeave, PointBody point) {
  SmallVector<Value> dynamic;
  for (unsigned loop = 0; loop < nest.parallel; ++loop)
    if (nest.extents[loop])
      dynamic.push_back(nest.extents[loop]);
  Value tensor = tensor::EmptyOp::create(b, ArrayRef<int64_t>(nest.sizes).take_front(nest.parallel), element, dynamic);
  if (start)
    tensor = linalg::FillOp::create(b, realConstant(b, element, *start), tensor).getResult(0);
  return build(nest, tensor, readings, mayLeave, point);
}

Value Structured::addTo(Value tensor, const LoopNest &nest, ArrayRef<Reading> readings, bool mayLeave,
                        PointBody point) {
  return build(nest, tensor, readings, mayLeave, point);
}

Value Structured::convert(Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == element)
    return tensor;
  LoopNest nest(b, b.getLoc(), type, tensor);
  std::vector<Expr> whole;
  for (const std::string &symbol : nest.symbols)
    whole.push_back(Expr::symbol(symbol));
  return make(nest, element, std::nullopt, {{tensor, whole}}, false,
              [](ImplicitLocOpBuilder &, ValueRange elements, Value, IndexEmitter &) { return elements[0]; });
}
