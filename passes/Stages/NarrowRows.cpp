// Reads and writes the form of operands whose rows are stored in 8 bits.
#include "passes/Stages/NarrowRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/Strides.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Views.h"
#include "passes/Stages/Stages.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using subscript::Expr;
using subscript::kRuntime;

bool skewer::isOfBytes(Type element) { return element.isInteger(8) || isa<Float8E4M3FNType>(element); }

/// Returns the argument that is widened; null if the value is no argument of 8 bits, widened to f32.
static Value widenedBytes(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isWidening(op) || !getElementTypeOrSelf(value).isF32() || !isa<BlockArgument>(op->getOperand(0)) ||
      !isOfBytes(getElementTypeOrSelf(op->getOperand(0))))
    return {};
  return op->getOperand(0);
}

/// Returns the number of elements from one index of a dimension to the next; nothing if an inner size is a run-time
/// size without a bound.
static std::optional<Expr> strideOf(ArrayRef<Expr> extents, size_t dimension) {
  Expr stride = 1;
  for (const Expr &extent : extents.drop_front(dimension + 1)) {
    if (extent.isConstant(kRuntime))
      return std::nullopt;
    stride = stride * extent;
  }
  return simplify(stride);
}

/// Returns the axes of a result as expressions of the place of an element in it; nothing if they are not known.
/// `extents`: of the result's dimensions, which may be lengths that are known at run time.
static std::optional<subscript::Substitution> axesAtPlace(const ResolvedEinsum &einsum, ArrayRef<Expr> extents) {
  subscript::Substitution axes;
  for (auto [number, dimension] : llvm::enumerate(*einsum.spec.result)) {
    std::optional<Expr> stride = strideOf(extents, number);
    if (!stride || !dimension.isProduct())
      return std::nullopt;
    Expr index = floorDiv(Expr::symbol(kPlace), *stride);
    if (number > 0)
      index = mod(index, extents[number]);
    int64_t inner = 1;
    for (size_t k = dimension.axes.size(); k-- > 0;) {
      int64_t size = einsum.sizes.at(dimension.axes[k]);
      Expr axis = floorDiv(index, Expr(inner));
      axes[dimension.axes[k]] = k > 0 ? mod(axis, Expr(size)) : axis;
      inner = k > 0 ? inner * size : inner;
    }
  }
  return axes;
}

/// Returns the place of a scale for each place of the result. The scale is read by `subscripts`.
static std::optional<Expr> placeOfScale(const ResolvedEinsum &einsum, ArrayRef<Expr> extents, ArrayRef<Expr> own,
                                        ArrayRef<Expr> subscripts) {
  auto axes = axesAtPlace(einsum, extents);
  if (!axes)
    return std::nullopt;
  // The first dimensions that both have are one quotient of the place.
  size_t alike = 0;
  while (alike < own.size() && alike + 1 < extents.size() && own[alike] == extents[alike] &&
         subscripts[alike] == flatIndex((*einsum.spec.result)[alike], einsum.sizes))
    ++alike;
  Expr place = alike ? floorDiv(Expr::symbol(kPlace), *strideOf(extents, alike - 1)) : Expr(0);
  for (size_t k = alike; k < own.size(); ++k) {
    if (k > 0 && own[k].isConstant(kRuntime))
      return std::nullopt;
    place = (k > 0 ? place * own[k] : place) + substitute(subscripts[k], *axes);
  }
  return simplify(place);
}

/// Returns the rows of an einsum of widened bytes and scales.
static std::optional<NarrowRows> scaledRows(EinsumOp einsum) {
  if (!isProduct(einsum) || einsum.getInputs().size() < 2 || !getElementTypeOrSelf(einsum.getResult()).isF32())
    return std::nullopt;
  ResolvedEinsum resolved = resolve(einsum);
  NarrowRows rows;
  rows.stored = widenedBytes(einsum.getInputs().front());
  std::vector<int64_t> shape = shapeOf(einsum.getResult());
  if (!rows.stored || resolved.guard || !resolved.spec.result || shape.empty() || shape.back() == kRuntime ||
      shapeOf(rows.stored) != shape)
    return std::nullopt;
  rows.rowElements = shape.back();
  std::vector<Expr> extents = extentsOf(einsum.getResult());
  if (!extents.back().isConstant(shape.back())) // rows of one length for all lengths
    return std::nullopt;
  for (auto [subscript, dimension, size] : llvm::zip_equal(resolved.subscripts.front(), *resolved.spec.result, shape))
    if (!(subscript == flatIndex(dimension, resolved.sizes)) && !(size == 1 && subscript.isConstant(0)))
      return std::nullopt;
  const subscript::Dimension &last = resolved.spec.result->back();
  for (size_t number = 1; number < einsum.getInputs().size(); ++number) {
    Value tensor = einsum.getInputs()[number];
    Type element = getElementTypeOrSelf(tensor);
    const std::vector<Expr> &subscripts = resolved.subscripts[number];
    for (const Expr &subscript : subscripts)
      for (const std::string &axis : symbolsOf(subscript))
        if (llvm::is_contained(last.axes, axis))
          return std::nullopt;
    auto place = placeOfScale(resolved, extents, extentsOf(tensor), subscripts);
    if (!place || !(element.isF32() || element.isF16() || element.isBF16()))
      return std::nullopt;
    rows.scales.push_back({tensor, *place});
  }
  return rows;
}

std::optional<NarrowRows> skewer::narrowRows(Value operand) {
  Value whole = memoryOf(operand);
  if (auto einsum = whole.getDefiningOp<EinsumOp>())
    return scaledRows(einsum);
  Value stored = widenedBytes(whole);
  if (!stored || shapeOf(stored).empty() || shapeOf(stored).back() == kRuntime)
    return std::nullopt;
  return NarrowRows{stored, {}, shapeOf(stored).back()};
}

/// Returns names for the axes of an argument that `subscripts` read in the order in which its elements lie in memory:
/// those of the axes of a tensor of this shape, and new names for axes of one element if the tensor has others of
/// these. Empty if the argument is read otherwise.
static std::vector<std::string> namesInOrder(ArrayRef<Expr> subscripts, ArrayRef<int64_t> own,
                                             ArrayRef<std::string> names, ArrayRef<int64_t> shape) {
  std::vector<std::string> result;
  size_t next = 0;
  auto skipOnes = [&] {
    while (next < shape.size() && shape[next] == 1)
      ++next;
  };
  for (auto [k, subscript] : llvm::enumerate(subscripts)) {
    if (own[k] == 1) {
      result.push_back(own == shape ? names[k] : "one" + std::to_string(k));
      continue;
    }
    skipOnes();
    if (next == shape.size() || own[k] != shape[next] || !(subscript == Expr::symbol(names[next])))
      return {};
    result.push_back(names[next++]);
  }
  skipOnes();
  return next == shape.size() ? result : std::vector<std::string>();
}

/// Returns the factors of a tensor as an einsum of the form of `scaledRows`; null if it is not the product of widened
/// bytes and scales.
static Value productOfRows(OpBuilder &builder, Value tensor) {
  std::vector<int64_t> shape = shapeOf(tensor);
  std::vector<std::string> names;
  subscript::AxisSizes sizes;
  std::vector<Expr> at;
  for (size_t k = 0; k < shape.size(); ++k) {
    names.push_back("n" + std::to_string(k));
    sizes[names.back()] = shape[k];
    at.push_back(Expr::symbol(names.back()));
  }
  auto expanded = [&](Value value, const std::vector<Expr> &subscripts) -> std::optional<Summand> {
    std::vector<Summand> summands = Expansion(domainOf(sizes), std::nullopt).expand(value, subscripts);
    if (summands.size() != 1)
      return std::nullopt;
    const Summand &one = summands.front();
    if (one.value || one.application || !one.contracted.empty() || !one.guard.isConstant(1) || one.scale != 1)
      return std::nullopt;
    return one;
  };
  std::optional<Summand> whole = expanded(tensor, at);
  if (!whole)
    return {};
  Summand &product = *whole;
  // The rows may be an operand of a product that multiplies them by another scale.
  for (size_t k = 0; k < product.factors.size(); ++k)
    while (product.factors[k].operand.getDefiningOp<arith::MulFOp>() &&
           countElements(product.factors[k].operand) == countElements(tensor)) {
      auto parts = expanded(product.factors[k].operand, product.factors[k].subscripts);
      if (!parts || parts->factors.size() < 2)
        break;
      product.factors.erase(product.factors.begin() + long(k));
      product.factors.insert(product.factors.begin() + long(k), parts->factors.begin(), parts->factors.end());
    }
  // Ones only repeat a tensor along a run-time size.
  llvm::erase_if(product.factors, [](const Factor &factor) { return splatValue(factor.operand) == 1.0; });
  auto namesOf = [&](const Factor &factor) {
    if (!widenedBytes(factor.operand))
      return std::vector<std::string>();
    return namesInOrder(factor.subscripts, shapeOf(factor.operand), names, shape);
  };
  // A scale of f16 or bf16 is widened where it is read.
  for (Factor &factor : product.factors)
    if (isWidening(factor.operand.getDefiningOp()) && !isOfBytes(getElementTypeOrSelf(widenedFrom(factor.operand))))
      factor.operand = widenedFrom(factor.operand);
  auto rows = llvm::find_if(product.factors, [&](const Factor &factor) { return !namesOf(factor).empty(); });
  auto isNumber = [](const Factor &factor) { // which has no memory of its own
    return isa_and_nonnull<arith::ConstantOp, tensor::SplatOp>(memoryOf(factor.operand).getDefiningOp());
  };
  if (rows == product.factors.end() || product.factors.size() < 2 || llvm::any_of(product.factors, isNumber))
    return {};
  std::rotate(product.factors.begin(), rows, std::next(rows));
  Factor &stored = product.factors.front();
  std::vector<std::string> ownNames = namesOf(stored);
  Operation *widening = builder.clone(*stored.operand.getDefiningOp());
  stored.operand = widening->getResult(0);
  auto type = cast<RankedTensorType>(stored.operand.getType());
  if (type != tensor.getType()) { // with other axes of one element
    subscript::Substitution first;
    for (auto [name, size] : llvm::zip_equal(names, shape))
      if (size == 1)
        first[name] = Expr(0);
    for (Factor &factor : product.factors)
      for (Expr &subscript : factor.subscripts)
        subscript = substitute(subscript, first);
  }
  stored.subscripts.clear();
  for (const std::string &name : ownNames)
    stored.subscripts.push_back(Expr::symbol(name));
  Value made = buildEinsum(builder, product, ownNames, type);
  auto einsum = made ? made.getDefiningOp<EinsumOp>() : EinsumOp();
  if (einsum && scaledRows(einsum))
    return type == tensor.getType() ? made : ReshapeOp::create(builder, made.getLoc(), tensor.getType(), made);
  if (einsum)
    einsum.erase();
  if (widening->use_empty())
    widening->erase();
  return {};
}

Value skewer::asNarrowRows(OpBuilder &builder, Value operand) {
  if (auto reshape = operand.getDefiningOp<ReshapeOp>()) {
    Value input = asNarrowRows(builder, reshape.getInput());
    return input ? ReshapeOp::create(builder, reshape.getLoc(), reshape.getType(), input).getResult() : Value();
  }
  if (widenedBytes(operand))
    return builder.clone(*operand.getDefiningOp())->getResult(0);
  return isa_and_nonnull<EinsumOp, arith::MulFOp>(operand.getDefiningOp()) ? productOfRows(builder, operand) : Value();
}

/// Returns whether only attentions with a schedule for a GPU read the value, as rows of 8 bits.
static bool onlyKernelsRead(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<ReshapeOp>(user))
      return onlyKernelsRead(user->getResult(0));
    if (auto einsum = dyn_cast<EinsumOp>(user))
      return einsum.getInputs().front() == value && llvm::count(einsum.getInputs(), value) == 1 && scaledRows(einsum) &&
             onlyKernelsRead(einsum.getResult());
    auto attention = isa<AttentionOp>(user) ? cast<AttentionOp>(user) : user->getParentOfType<AttentionOp>();
    return attention && isa_and_nonnull<GpuScheduleAttr>(attention.getScheduleAttr());
  });
}

bool skewer::isOfNarrowRows(Operation *op) {
  auto einsum = dyn_cast<EinsumOp>(op);
  bool has = einsum ? scaledRows(einsum).has_value() : op->getNumResults() == 1 && widenedBytes(op->getResult(0));
  return has && onlyKernelsRead(op->getResult(0));
}
