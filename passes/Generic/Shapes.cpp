// Derives facts before code is emitted: the shape of every tensor, and whether its elements may be absent.
#include "dialect/IR/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Analysis/Strides.h"
#include "passes/Generic/Elements.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::kRuntime;

void Tensors::collectExtents(const attn::ResolvedEinsum &resolved, ValueRange operands,
                             std::map<std::string, Extent> &extents) {
  for (const auto &[axis, size] : resolved.sizes)
    if (size != kRuntime)
      extents[axis] = {"", size};
  for (size_t k = 0; k < resolved.spec.operands.size() && k < operands.size(); ++k) {
    const std::vector<Extent> &shape = storage[operands[k]].shape;
    for (size_t d = 0; d < resolved.spec.operands[k].size() && d < shape.size(); ++d) {
      if (!resolved.spec.operands[k][d].isAxis())
        continue;
      Extent &extent = extents.insert({resolved.spec.operands[k][d].axes[0], shape[d]}).first->second;
      if (!shape[d].name.empty()) // a run-time length replaces its bound
        extent = shape[d];
    }
  }
  // Add axes that read only index operands.
  for (const subscript::Dimensions &operand : resolved.spec.operands)
    for (const subscript::Dimension &dimension : operand)
      for (const subscript::Expr &read : subscript::readNodes(dimension.index))
        for (const TensorArgument &input : plan.inputs)
          for (size_t d = 0; input.name == read.name() && d < input.shape.size() && d < read.operands().size(); ++d)
            if (read.operands()[d].isSymbol())
              extents.insert({read.operands()[d].name(), input.shape[d]});
}

/// Adds the lengths of an operation's axes.
static void addAxisExtents(Operation *op, std::map<std::string, Extent> &extents) {
  if (auto stated = op->getAttrOfType<DictionaryAttr>(attn::kAxisExtents))
    for (NamedAttribute axis : stated)
      extents[axis.getName().str()] = {cast<StringAttr>(axis.getValue()).str(), 1};
}

std::optional<std::map<std::string, Extent>> Tensors::extentsOf(Operation *op, const attn::ResolvedEinsum &resolved) {
  std::map<std::string, Extent> extents;
  collectExtents(resolved, op->getOperands(), extents);
  addAxisExtents(op, extents);
  for (const std::string &axis : resolved.spec.axes())
    if (!extents.count(axis))
      return std::nullopt;
  return extents;
}

std::optional<std::map<std::string, Extent>> Tensors::extentsOf(attn::AttentionOp op) {
  auto view = attn::viewOf(op);
  const attn::ScoreSpace &space = view->space;
  std::map<std::string, Extent> extents;
  if (view->value)
    collectExtents(*view->value, op.getValue(), extents);
  for (const std::vector<attn::Term> *side : {&view->score, &view->values})
    for (const attn::Term &term : *side)
      collectExtents(term.einsum, attn::TermOp(term.op).getInputs(), extents);
  for (const auto &[axis, size] : space.sizes)
    if (size != kRuntime)
      extents[axis] = {"", size};
  addAxisExtents(op, extents);
  for (const auto *axes : {&space.leading, &space.query, &space.key, &space.value})
    for (const std::string &axis : *axes)
      if (!extents.count(axis))
        return std::nullopt;
  return extents;
}

std::optional<std::vector<Extent>> Tensors::extentsOf(const subscript::Dimensions &dimensions,
                                                      const std::map<std::string, Extent> &extents) {
  std::vector<Extent> shape;
  for (const subscript::Dimension &dimension : dimensions) {
    Extent whole{"", 1};
    subscript::Expr product = 1; // product of lengths and of the sizes between them
    for (const std::string &axis : dimension.axes) {
      const Extent &one = extents.at(axis);
      if (one.name.empty() && whole.name.empty())
        whole.fixed *= one.fixed;
      else if (dimension.axes.size() == 1)
        whole = one;
      else if (!one.name.empty() && !plan.boundOf(one))
        return std::nullopt;
      else
        whole.name = "length";
      auto length = one.name.empty() ? std::optional<subscript::Expr>() : subscript::parse(std::string_view(one.name));
      product = product * length.value_or(subscript::Expr(one.fixed));
    }
    if (dimension.axes.size() > 1 && !whole.name.empty())
      whole = {subscript::print(subscript::simplify(product)), 1};
    shape.push_back(whole);
  }
  return shape;
}

/// Returns the shape of an operation whose text relates the axes of the result to those of the operands; else nothing.
std::optional<std::vector<Extent>> Tensors::shapeByText(Operation *op) {
  auto throughSpec = [&](const std::optional<attn::ResolvedEinsum> &resolved) -> std::optional<std::vector<Extent>> {
    if (!resolved || !resolved->spec.result)
      return std::nullopt;
    auto extents = extentsOf(op, *resolved);
    return extents ? extentsOf(*resolved->spec.result, *extents) : std::nullopt;
  };
  if (auto einsum = dyn_cast<attn::EinsumOp>(op))
    return throughSpec(resolve(einsum));
  if (auto extremum = dyn_cast<attn::ExtremumOp>(op))
    return throughSpec(resolve(extremum));
  if (auto rearrange = dyn_cast<attn::RearrangeOp>(op))
    return throughSpec(attn::resolve(rearrange.getSpec(), rearrange->getOperands(), rearrange.getSizesAttr(), {}));
  auto attention = cast<attn::AttentionOp>(op);
  attn::ScoreSpace space = attn::scoreSpace(attention);
  Value values = attention.getValue();
  auto resolved = attn::resolve(attention.getValueSpec(), values, attn::sizesTo(op->getContext(), space.sizes), {});
  // Values that all batch rows share do not give the size of the batch, but some term does.
  auto extents = extentsOf(attention);
  return resolved && resolved->spec.result && extents ? extentsOf(*resolved->spec.result, *extents) : std::nullopt;
}

/// Returns the shape of the input without the axes that are summed.
std::vector<Extent> Tensors::shapeOfRows(attn::LogSumExpOp op) {
  std::vector<Extent> shape = storage[op.getInput()].shape;
  auto axes = subscript::parseDimensions(std::string_view(op.getAxes()));
  auto over = subscript::parseDimensions(std::string_view(op.getOver()));
  std::vector<std::string> summed;
  for (const subscript::Dimension &dimension : *over)
    summed.insert(summed.end(), dimension.axes.begin(), dimension.axes.end());
  for (size_t d = shape.size(); d-- > 0;)
    if ((*axes)[d].axes == summed)
      shape.erase(shape.begin() + d);
  return shape;
}

std::optional<std::vector<Extent>> Tensors::shapeOf(Operation *op) {
  auto shape = shapeOfType(op);
  auto stated = op->getAttrOfType<ArrayAttr>(attn::kExtents);
  for (size_t d = 0; shape && stated && d < stated.size(); ++d)
    if (auto length = dyn_cast<StringAttr>(stated[d]))
      (*shape)[d] = {length.str(), 1};
  return shape;
}

/// Returns the shape without run-time lengths.
std::optional<std::vector<Extent>> Tensors::shapeOfType(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  std::vector<Extent> shape;
  for (int64_t size : type.getShape())
    shape.push_back({"", size});
  if (type.hasStaticShape())
    return shape;
  if (isa<attn::EinsumOp, attn::ExtremumOp, attn::RearrangeOp, attn::AttentionOp>(op))
    return shapeByText(op);
  if (auto logSumExp = dyn_cast<attn::LogSumExpOp>(op))
    return shapeOfRows(logSumExp);
  if (isa<attn::PositionOp>(op)) { // has run-time sizes only to read index operands, and then it states its shape
    auto stated = op->getAttrOfType<ArrayAttr>("attn.shape");
    if (!stated || stated.size() != shape.size())
      return std::nullopt;
    for (auto [extent, entry] : llvm::zip(shape, stated))
      if (auto name = dyn_cast<StringAttr>(entry))
        extent = {name.str(), 1};
    return shape;
  }
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    size_t next = 0;
    for (Extent &extent : shape) {
      if (!ShapedType::isDynamic(extent.fixed))
        continue;
      auto dimension = splat.getDynamicSizes()[next++].getDefiningOp<tensor::DimOp>();
      auto index = dimension ? dimension.getConstantIndex() : std::nullopt;
      if (!index || !storage.count(dimension.getSource()))
        return std::nullopt;
      extent = storage[dimension.getSource()].shape[*index];
    }
    return shape;
  }
  return keepRuntimeSizes(op, std::move(shape));
}

/// Takes run-time sizes from the same dimensions of the first operand with a known shape.
std::optional<std::vector<Extent>> Tensors::keepRuntimeSizes(Operation *op, std::vector<Extent> shape) {
  auto source = llvm::find_if(op->getOperands(), [&](Value operand) { return storage.count(operand) != 0; });
  if (source == op->operand_end())
    return std::nullopt;
  const std::vector<Extent> &input = storage[*source].shape;
  auto gather = dyn_cast<attn::GatherOp>(op);
  int64_t added = gather ? cast<ShapedType>(gather.getIndices().getType()).getRank() - 1 : 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!ShapedType::isDynamic(shape[d].fixed))
      continue;
    size_t from = gather && d > gather.getDimension() ? d - added : d;
    if (from >= input.size() || input[from].name.empty())
      return std::nullopt;
    shape[d] = input[from];
  }
  return shape;
}

/// Returns whether a guard on the axes of the result sets elements to 0.
static bool isGuarded(attn::EinsumOp op) {
  attn::ResolvedEinsum resolved = resolve(op);
  return resolved.guard && llvm::none_of(subscript::symbolsOf(*resolved.guard), [&](const std::string &symbol) {
           return llvm::is_contained(resolved.contracted, symbol);
         });
}

/// Returns whether a product of the generic path reads a value, or what only moves or scales it. Neither the kernel's
/// caller nor a fused attention asks which elements are absent.
static bool isFactor(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<arith::MulFOp, arith::DivFOp>(user))
      return true;
    if (auto einsum = dyn_cast<attn::EinsumOp>(user); einsum && !(isProduct(einsum) && einsum.getInputs().size() == 1))
      return true;
    if (auto attention = dyn_cast<attn::AttentionOp>(user))
      return !attention.getScheduleAttr();
    return (isa<attn::EinsumOp, attn::IndexMapOpInterface, attn::ConcatOp, arith::AddFOp, arith::SubFOp>(user) ||
            keepsAbsence(user)) &&
           isFactor(user->getResult(0));
  });
}

/// Returns whether absent elements of some operand of a product hide the other operands.
static bool someHidesOthers(attn::EinsumOp op, llvm::DenseMap<Value, Storage> &storage) {
  SmallVector<const Storage *> operands;
  for (Value input : op.getInputs())
    operands.push_back(&storage[input]);
  return llvm::any_of(llvm::seq(operands.size()), [&](size_t number) { return hidesOthers(operands, number); });
}

/// Returns whether elements of the result may be absent. The reference has the same rules.
static bool mayBeAbsent(Operation *op, llvm::DenseMap<Value, Storage> &storage) {
  auto absent = [&](Value operand) {
    auto found = storage.find(operand);
    return found != storage.end() && found->second.mayBeAbsent;
  };
  auto isAbsentIn = [&](attn::EinsumOp einsum) {
    if (isGuarded(einsum))
      return true;
    if (isProduct(einsum) || einsum.getInputs().size() == 1)
      return llvm::any_of(einsum.getInputs(), absent);
    return someHidesOthers(einsum, storage);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](attn::SoftmaxOp softmax) { return softmax.getMask().has_value(); })
      .Case([](attn::AttentionOp) { return false; })
      .Case(isAbsentIn)
      .Case<attn::ConcatOp, arith::MulFOp>([&](Operation *o) { return llvm::any_of(o->getOperands(), absent); })
      .Case<arith::AddFOp, arith::SubFOp>([&](Operation *o) { return llvm::all_of(o->getOperands(), absent); })
      .Case<attn::IndexMapOpInterface>([&](Operation *o) { return absent(o->getOperand(0)); })
      .Default([&](Operation *o) { return keepsAbsence(o) && absent(o->getOperand(0)); });
}

std::optional<int> generic::step(const Storage &tensor, ArrayRef<subscript::Expr> subscripts, const std::string &axis) {
  return tensor.number ? std::optional(0) : stepAlong(subscripts, axis);
}

bool generic::hidesOthers(ArrayRef<const Storage *> operands, size_t number) {
  return operands[number]->mayBeAbsent && llvm::any_of(llvm::enumerate(operands), [&](const auto &other) {
           return other.index() != number && !other.value()->finite;
         });
}

bool Tensors::checksAbsence(attn::EinsumOp op) { return someHidesOthers(op, storage); }

static bool isFinite(Attribute attribute) {
  auto dense = dyn_cast_if_present<DenseFPElementsAttr>(attribute);
  return dense && llvm::all_of(dense.getValues<APFloat>(), [](const APFloat &value) { return value.isFinite(); });
}

bool Tensors::describe(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !(type.getElementType().isF32() || type.getElementType().isF16() || type.getElementType().isBF16()))
    return fail(op, "the generic path takes tensors of f32, f16 and bf16");
  Storage described;
  auto shape = shapeOf(op);
  if (!shape)
    return fail(op, "a run-time size of the result is no operand's dimension");
  described.shape = std::move(*shape);
  described.element = type.getElementType();
  described.mayBeAbsent = mayBeAbsent(op, storage) && isFactor(op->getResult(0));
  auto number = [](Attribute attribute) -> std::optional<double> {
    if (auto dense = dyn_cast_if_present<DenseFPElementsAttr>(attribute))
      return dense.isSplat()
                 ? std::optional<double>(
                       FloatAttr::get(dense.getElementType(), dense.getSplatValue<APFloat>()).getValueAsDouble())
                 : std::nullopt;
    if (auto scalar = dyn_cast_if_present<FloatAttr>(attribute))
      return scalar.getValueAsDouble();
    return std::nullopt;
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    described.number = number(constant.getValue());
    described.finite = isFinite(constant.getValue());
    if (!described.number && !isa<DenseFPElementsAttr>(constant.getValue()))
      return fail(op, "only dense constants are lowered");
  } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    auto scalar = splat.getInput().getDefiningOp<arith::ConstantOp>();
    described.number = scalar ? number(scalar.getValue()) : std::nullopt;
    if (!described.number)
      return fail(op, "only splats of constants are lowered");
  }
  storage[op->getResult(0)] = std::move(described);
  auto attention = dyn_cast<attn::AttentionOp>(op);
  if (Value numbers = !attention ? Value() : attention.getLse() ? attention.getLse() : attention.getTotal()) {
    auto space = subscript::parseDimensions(std::string_view(attention.getSpace()));
    auto extents = extentsOf(attention);
    space->pop_back();
    auto rows = extents ? extentsOf(*space, *extents) : std::nullopt;
    if (!rows)
      return fail(op, "a run-time size of the score is no operand's dimension");
    Storage &ofRows = storage[numbers];
    ofRows.shape = std::move(*rows);
    ofRows.element = b.getF32Type();
  }
  if (Value weights = attention ? attention.getWeights() : Value()) {
    auto space = subscript::parseDimensions(std::string_view(attention.getSpace()));
    auto extents = extentsOf(attention);
    auto pairs = extents ? extentsOf(*space, *extents) : std::nullopt;
    if (!pairs)
      return fail(op, "a run-time size of the score is no operand's dimension");
    Storage &ofPairs = storage[weights];
    ofPairs.shape = std::move(*pairs);
    ofPairs.element = b.getF32Type();
  }
  return true;
}
