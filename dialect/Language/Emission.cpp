// Emits a typed kernel: one function for the kernel, one operation for each tensor. It decides nothing.
#include "dialect/Language/Emission.h"
#include "dialect/IR/RangeEnds.h"
#include "dialect/IR/Reductions.h"
#include "dialect/IR/TextPlace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace skewer::language {

namespace {

using Inputs = llvm::ArrayRef<mlir::Value>;

template <typename Op> mlir::Value createUnary(OpBuilder &builder, Location at, Inputs inputs) {
  return Op::create(builder, at, inputs[0]);
}
template <typename Op> mlir::Value createBinary(OpBuilder &builder, Location at, Inputs inputs) {
  return Op::create(builder, at, inputs[0], inputs[1]);
}

// Every function needs a case here; a missing one does not compile.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
/// Creates the operation that computes a function of elements.
mlir::Value elementwise(typed::Function function, OpBuilder &builder, Location at, Inputs inputs) {
  using typed::Function;
  switch (function) {
  case Function::Negate:
    return createUnary<arith::NegFOp>(builder, at, inputs);
  case Function::Exp:
    return createUnary<math::ExpOp>(builder, at, inputs);
  case Function::Log:
    return createUnary<math::LogOp>(builder, at, inputs);
  case Function::Sqrt:
    return createUnary<math::SqrtOp>(builder, at, inputs);
  case Function::Rsqrt:
    return createUnary<math::RsqrtOp>(builder, at, inputs);
  case Function::Tanh:
    return createUnary<math::TanhOp>(builder, at, inputs);
  case Function::Sin:
    return createUnary<math::SinOp>(builder, at, inputs);
  case Function::Cos:
    return createUnary<math::CosOp>(builder, at, inputs);
  case Function::Erf:
    return createUnary<math::ErfOp>(builder, at, inputs);
  case Function::Floor:
    return createUnary<math::FloorOp>(builder, at, inputs);
  case Function::Ceil:
    return createUnary<math::CeilOp>(builder, at, inputs);
  case Function::Round:
    return createUnary<math::RoundEvenOp>(builder, at, inputs);
  case Function::Abs:
    return createUnary<math::AbsFOp>(builder, at, inputs);
  case Function::Add:
    return createBinary<arith::AddFOp>(builder, at, inputs);
  case Function::Subtract:
    return createBinary<arith::SubFOp>(builder, at, inputs);
  case Function::Multiply:
    return createBinary<arith::MulFOp>(builder, at, inputs);
  case Function::Divide:
    return createBinary<arith::DivFOp>(builder, at, inputs);
  case Function::Power:
    return createBinary<math::PowFOp>(builder, at, inputs);
  case Function::Minimum:
    return createBinary<arith::MinimumFOp>(builder, at, inputs);
  case Function::Maximum:
    return createBinary<arith::MaximumFOp>(builder, at, inputs);
  }
  llvm_unreachable("every function has its case");
}
#pragma GCC diagnostic pop

class Emission {
public:
  Emission(const typed::Kernel &kernel, OpBuilder &builder, llvm::SourceMgr &sources)
      : kernel(kernel), builder(builder), sources(sources) {}
  EmittedKernel emit();

  // Create the operation of the current tensor, one overload for each kind.
  mlir::Value operator()(const typed::Argument &argument) { return block->getArgument(argument.number); }
  mlir::Value operator()(const typed::Constant &);
  mlir::Value operator()(const typed::Splat &);
  mlir::Value operator()(const typed::Position &);
  mlir::Value operator()(const typed::Einsum &);
  mlir::Value operator()(const typed::Rows &);
  mlir::Value operator()(const typed::Extremum &);
  mlir::Value operator()(const typed::Rearrange &);
  mlir::Value operator()(const typed::Elementwise &);
  mlir::Value operator()(const typed::Apply &);
  mlir::Value operator()(const typed::Cast &);
  mlir::Value operator()(const typed::Skew &);
  mlir::Value operator()(const typed::Pad &);
  mlir::Value operator()(const typed::Reshape &);
  mlir::Value operator()(const typed::Slice &);
  mlir::Value operator()(const typed::Gather &);
  mlir::Value operator()(const typed::Concat &);

private:
  void createFunction();
  void emit(const typed::Tensor &);
  Location location(llvm::StringRef place);
  Type typeOf(typed::Element);
  RankedTensorType typeOf(const Dimensions &, typed::Element);
  RankedTensorType type() { return typeOf(at->dimensions, at->element); }
  Location location();
  ArrayAttr shapeOf(const Dimensions &);
  StringAttr text(const std::string &text) { return builder.getStringAttr(text); }
  StringAttr text(const std::optional<subscript::Expr> &expression) {
    return expression ? builder.getStringAttr(subscript::print(*expression)) : StringAttr();
  }
  DictionaryAttr sizes(const subscript::AxisSizes &sizes) {
    return attn::sizesTo(builder.getContext(), sizes);
  }

  const typed::Kernel &kernel;
  OpBuilder &builder;
  llvm::SourceMgr &sources;
  func::FuncOp function;
  Block *block = nullptr;
  llvm::DenseMap<const typed::Tensor *, mlir::Value> values;
  const typed::Tensor *at = nullptr; // the tensor that is being emitted
  SmallVector<mlir::Value> inputs;   // its operands
  EmittedKernel emitted;
};

Location Emission::location(StringRef place) {
  SMLoc at = SMLoc::getFromPointer(place.data());
  unsigned buffer = place.data() ? sources.FindBufferContainingLoc(at) : 0;
  if (!buffer)
    return UnknownLoc::get(builder.getContext());
  auto [line, column] = sources.getLineAndColumn(at, buffer);
  return FileLineColLoc::get(builder.getContext(), sources.getMemoryBuffer(buffer)->getBufferIdentifier(), line,
                             column);
}

/// Returns the place of the current tensor, with the calls of schemes that led there.
Location Emission::location() {
  SmallVector<std::pair<std::string, Location>> calls;
  for (const auto &[place, scheme] : llvm::reverse(at->calls))
    calls.emplace_back(scheme, location(place));
  return attn::calledFrom(location(at->place), calls);
}

Type Emission::typeOf(typed::Element element) {
  switch (element) {
  case typed::Element::F32:
    return builder.getF32Type();
  case typed::Element::F16:
    return builder.getF16Type();
  case typed::Element::BF16:
    return builder.getBF16Type();
  case typed::Element::I32:
    return builder.getI32Type();
  case typed::Element::I8:
    return builder.getI8Type();
  case typed::Element::F8E4M3:
    return Float8E4M3FNType::get(builder.getContext());
  }
  return {};
}

RankedTensorType Emission::typeOf(const Dimensions &dimensions, typed::Element element) {
  SmallVector<int64_t> sizes;
  for (const Dimension &d : dimensions)
    sizes.push_back(d.isRuntime() ? ShapedType::kDynamic : d.size);
  return RankedTensorType::get(sizes, typeOf(element));
}

ArrayAttr Emission::shapeOf(const Dimensions &dimensions) {
  SmallVector<Attribute> sizes;
  for (const Dimension &d : dimensions)
    sizes.push_back(d.isRuntime() ? Attribute(builder.getStringAttr(d.runtime)) : builder.getI64IntegerAttr(d.size));
  return builder.getArrayAttr(sizes);
}

mlir::Value Emission::operator()(const typed::Constant &constant) {
  auto numbers = DenseElementsAttr::get(type(), ArrayRef<float>(constant.elements));
  return arith::ConstantOp::create(builder, location(), numbers);
}

mlir::Value Emission::operator()(const typed::Splat &splat) {
  FloatAttr scalar = builder.getF32FloatAttr(splat.number);
  if (type().hasStaticShape())
    return arith::ConstantOp::create(builder, location(), DenseElementsAttr::get(type(), scalar.getValue()));
  auto sourceOf = [&](const std::string &size) -> mlir::Value { // the first operand with this size
    for (auto [number, operand] : llvm::enumerate(kernel.operands))
      for (auto [d, dimension] : llvm::enumerate(operand.dimensions))
        if (dimension.runtime == size)
          return tensor::DimOp::create(builder, location(), block->getArgument(number), d);
    return {};
  };
  SmallVector<mlir::Value> sizes;
  for (const Dimension &d : at->dimensions)
    if (d.isRuntime())
      sizes.push_back(sourceOf(d.runtime));
  mlir::Value constant = arith::ConstantOp::create(builder, location(), scalar);
  return tensor::SplatOp::create(builder, location(), constant, type().getShape(), sizes);
}

mlir::Value Emission::operator()(const typed::Position &position) {
  auto op = attn::PositionOp::create(builder, location(), type(), text(position.axes), text(position.expression),
                                     DictionaryAttr());
  attn::bindIndices(op);
  if (!op.getIndices().empty()) // run-time sizes that no operand of this operation gives
    op->setAttr("attn.shape", shapeOf(at->dimensions));
  return op.getResult();
}

mlir::Value Emission::operator()(const typed::Einsum &einsum) {
  auto op = attn::EinsumOp::create(builder, location(), type(), text(einsum.text), sizes(einsum.sizes),
                                   text(einsum.guard), inputs);
  attn::bindIndices(op);
  if (einsum.places)
    emitted.einsums.push_back({op, at});
  return op.getResult();
}

mlir::Value Emission::operator()(const typed::Rows &rows) {
  auto finish = [](auto op) {
    attn::bindIndices(op);
    return op.getResult();
  };
  if (rows.isSoftmax)
    return finish(attn::SoftmaxOp::create(builder, location(), inputs[0].getType(), text(rows.axes), text(rows.over),
                                          text(rows.mask), DictionaryAttr(), inputs[0]));
  return finish(attn::LogSumExpOp::create(builder, location(), type(), text(rows.axes), text(rows.over),
                                          text(rows.mask), DictionaryAttr(), inputs[0]));
}

mlir::Value Emission::operator()(const typed::Extremum &extremum) {
  return attn::ExtremumOp::create(builder, location(), type(), extremum.isLeast, text(extremum.text),
                                  sizes(extremum.sizes), inputs[0]);
}

mlir::Value Emission::operator()(const typed::Rearrange &rearrange) {
  return attn::RearrangeOp::create(builder, location(), type(), text(rearrange.text), sizes(rearrange.sizes),
                                   inputs[0]);
}

mlir::Value Emission::operator()(const typed::Elementwise &elements) {
  return elementwise(elements.function, builder, location(), inputs);
}

mlir::Value Emission::operator()(const typed::Apply &apply) {
  return attn::ApplyOp::create(builder, location(), type(), apply.function, inputs);
}

mlir::Value Emission::operator()(const typed::Cast &) {
  Type from = getElementTypeOrSelf(inputs[0]);
  if (from.isInteger())
    return arith::SIToFPOp::create(builder, location(), type(), inputs[0]);
  if (from.getIntOrFloatBitWidth() > typeOf(at->element).getIntOrFloatBitWidth())
    return arith::TruncFOp::create(builder, location(), type(), inputs[0]);
  return arith::ExtFOp::create(builder, location(), type(), inputs[0]);
}

mlir::Value Emission::operator()(const typed::Skew &) {
  return attn::SkewOp::create(builder, location(), type(), inputs[0]);
}
mlir::Value Emission::operator()(const typed::Pad &pad) {
  return attn::PadOp::create(builder, location(), type(), inputs[0], pad.low, pad.high, APFloat(pad.value));
}
mlir::Value Emission::operator()(const typed::Reshape &) {
  return attn::ReshapeOp::create(builder, location(), type(), inputs[0]);
}
mlir::Value Emission::operator()(const typed::Slice &slice) {
  return attn::SliceOp::create(builder, location(), type(), inputs[0], slice.offsets, slice.strides);
}
mlir::Value Emission::operator()(const typed::Gather &gather) {
  auto rows = DenseIntElementsAttr::get(RankedTensorType::get(gather.shape, builder.getI64Type()),
                                        ArrayRef<int64_t>(gather.rows));
  return attn::GatherOp::create(builder, location(), type(), inputs[0], static_cast<uint64_t>(gather.dimension), rows);
}
mlir::Value Emission::operator()(const typed::Concat &concat) {
  return attn::ConcatOp::create(builder, location(), type(), inputs, static_cast<uint64_t>(concat.dimension));
}

/// Creates an empty function with the kernel's name and types, and with attributes that name its operands and results.
void Emission::createFunction() {
  SmallVector<Type> types, results;
  for (const typed::Operand &operand : kernel.operands)
    types.push_back(typeOf(operand.dimensions, operand.element));
  for (const typed::Result &result : kernel.results)
    results.push_back(typeOf(result.dimensions, result.element));
  function =
      func::FuncOp::create(builder, location(kernel.name), kernel.name, builder.getFunctionType(types, results));
  function->setAttr("attn.kernel", builder.getUnitAttr());
  SmallVector<StringRef> runtimeSizes(kernel.runtimeSizes.begin(), kernel.runtimeSizes.end());
  function->setAttr("attn.sizes", builder.getStrArrayAttr(runtimeSizes));
  SmallVector<NamedAttribute> lengths;
  for (const auto &[name, bound] : kernel.lengths)
    lengths.emplace_back(builder.getStringAttr(name), builder.getI64IntegerAttr(bound));
  if (!lengths.empty())
    function->setAttr(attn::kLengths, builder.getDictionaryAttr(lengths));
  for (auto [number, result] : llvm::enumerate(kernel.results)) {
    function.setResultAttr(number, "attn.shape", shapeOf(result.dimensions));
    if (!result.name.empty())
      function.setResultAttr(number, attn::kArgumentName, builder.getStringAttr(result.name));
  }
  for (auto [k, operand] : llvm::enumerate(kernel.operands)) {
    function.setArgAttr(k, attn::kArgumentName, builder.getStringAttr(operand.name));
    function.setArgAttr(k, "attn.shape", shapeOf(operand.dimensions));
    if (operand.isConst)
      function.setArgAttr(k, attn::kArgumentConst, builder.getUnitAttr());
    const typed::Spread &spread = operand.spread;
    if (spread.deviation)
      function.setArgAttr(k, attn::kArgumentDeviation, builder.getF64FloatAttr(*spread.deviation));
    if (spread.mean)
      function.setArgAttr(k, attn::kArgumentMean, builder.getF64FloatAttr(*spread.mean));
    if (spread.from)
      function.setArgAttr(k, attn::kArgumentBetween, builder.getDenseF64ArrayAttr({*spread.from, *spread.to}));
    if (operand.range)
      function.setArgAttr(k, attn::kArgumentRange,
                          builder.getDenseI64ArrayAttr({operand.range->low, operand.range->high}));
  }
  block = function.addEntryBlock();
  for (auto [argument, operand] : llvm::zip(block->getArguments(), kernel.operands)) {
    Location place = location(operand.name);
    argument.setLoc(operand.range ? attn::withRangeEnds(place, location(operand.low), location(operand.high)) : place);
  }
  for (const typed::Origin &origin : kernel.origins) {
    unsigned number = function.getNumArguments();
    auto type = RankedTensorType::get({1}, builder.getI32Type());
    if (failed(function.insertArgument(number, type, {}, location(origin.axis))))
      return; // never happens: a function accepts a new argument
    function.setArgAttr(number, attn::kArgumentName, builder.getStringAttr(origin.name));
    function.setArgAttr(number, "attn.shape", builder.getI64ArrayAttr({1}));
    function.setArgAttr(number, attn::kArgumentRange,
                        builder.getDenseI64ArrayAttr({origin.range.low, origin.range.high}));
    function.setArgAttr(number, attn::kArgumentOrigin, builder.getStringAttr(origin.name));
  }
}

void Emission::emit(const typed::Tensor &tensor) {
  at = &tensor;
  inputs.clear();
  for (const typed::Tensor *operand : tensor.operands)
    inputs.push_back(values.at(operand));
  mlir::Value value = std::visit(*this, tensor.operation);
  values[&tensor] = value;
  if (tensor.name.empty())
    return;
  auto named = TypeAttr::get(cast<RankedTensorType>(value.getType()).clone(typeOf(tensor.namedElement)));
  Operation *op = value.getDefiningOp();
  op->setLoc(NameLoc::get(builder.getStringAttr(tensor.name),
                          FusedLoc::get({op->getLoc()}, named, builder.getContext())));
}

EmittedKernel Emission::emit() {
  createFunction();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(block);
  for (const auto &tensor : kernel.tensors)
    emit(*tensor);
  SmallVector<mlir::Value> returned;
  for (const typed::Tensor *tensor : kernel.returned)
    returned.push_back(values.at(tensor));
  func::ReturnOp::create(builder, location(kernel.returnPlace), returned);
  emitted.function = function;
  return std::move(emitted);
}
} // namespace

EmittedKernel emitKernel(const typed::Kernel &kernel, OpBuilder &builder, llvm::SourceMgr &sources) {
  return Emission(kernel, builder, sources).emit();
}

} // namespace skewer::language
