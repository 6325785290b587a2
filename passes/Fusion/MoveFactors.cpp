// The patterns of attn-split-products that move a factor or a divisor of the weights to where it costs least: to the
// values, to the content, or to the result.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/ProductPatterns.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/Views.h"
#include "passes/Fusion/WeightFactors.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The factors of a tensor, each by the axes of an einsum, where a condition on the axes holds; the tensor is 0
/// elsewhere.
struct Factors {
  SmallVector<NamedTensor> tensors;
  Expr guard = 1;
};

/// Returns a factor that positions decide, as 0 and 1, as a condition of the product.
std::optional<Expr> conditionOf(const Factor &factor, const AxisSizes &sizes) {
  if (!factor.operand.getDefiningOp<PositionOp>())
    return std::nullopt;
  Domain domain = domainOf(sizes);
  std::vector<Summand> summands = Expansion(domain, std::nullopt).expand(factor.operand, factor.subscripts);
  auto range = summands.size() == 1 && summands[0].value ? bound(*summands[0].value, domain) : std::nullopt;
  if (!range || range->range.low < 0 || range->range.high > 1)
    return std::nullopt;
  return summands[0].value;
}

/// Returns the tensors that a tensor of the weights' shape is a view of, by the axes in `known`; nothing if it is
/// more than a view. `whole` is a tensor that is not looked through.
std::optional<Factors> factorsOver(const Product &product, Value tensor, const Dimensions &weights,
                                   const std::set<std::string> &known, Value whole = {}) {
  std::vector<Expr> at;
  for (const Dimension &dimension : weights)
    at.push_back(flatIndex(dimension, product.resolved.sizes));
  ExpansionOptions options;
  options.products = true;
  options.whole = whole;
  options.guards = [](const Expr &) { return true; };
  options.arithmetic = false; // a sum of numbers (a learned difference) is computed once, where they are few
  std::vector<Summand> summands =
      Expansion(domainOf(product.resolved.sizes), std::nullopt, options).expand(tensor, at);
  if (summands.size() != 1)
    return std::nullopt;
  const Summand &summand = summands[0];
  Factors factors;
  factors.guard = summand.guard;
  if (summand.value || summand.scale != 1 || summand.application || !summand.contracted.empty() ||
      !readsOf(factors.guard).empty())
    return std::nullopt;
  for (const Factor &factor : summand.factors) {
    if (splatValue(factor.operand) == 1.0) // a tensor that is repeated along a run-time size is an einsum with ones
      continue;
    if (auto condition = conditionOf(factor, product.resolved.sizes)) {
      factors.guard = logicalAnd(factors.guard, *condition);
      continue;
    }
    Dimensions dimensions;
    std::vector<int64_t> extents = shapeOf(factor.operand);
    for (auto [subscript, extent] : llvm::zip(factor.subscripts, extents)) {
      for (const std::string &axis : symbolsOf(subscript))
        if (!known.count(axis))
          return std::nullopt;
      dimensions.push_back(dimensionFor(subscript, product.resolved.sizes, extent));
    }
    factors.tensors.push_back({factor.operand, std::move(dimensions)});
  }
  if (factors.tensors.empty() && factors.guard.isConstant())
    return std::nullopt;
  return factors;
}

/// Returns a factor of the weights, the operand `number` of a product, as factors of the values. Values that are read
/// at places that positions decide (shared heads, rows of a table) have only factors that are read at the same places.
std::optional<Factors> factorsOfValues(Product &product, unsigned number, Value factor) {
  const Dimensions &dimensions = product.dimensions(1 - number);
  std::set<std::string> known = axesOf(dimensions);
  for (const Dimension &dimension : dimensions)
    if (!dimension.isProduct())
      known.merge(symbolsOf(dimension.index));
  auto factors = factorsOver(product, factor, product.dimensions(number), known);
  if (!factors || arePlain(dimensions))
    return factors;
  TensorRead values{dimensions, shapeOf(product.op.getInputs()[1 - number])};
  bool areAlike = llvm::all_of(factors->tensors, [&](const NamedTensor &one) {
    return readAlike(values, {one.second, shapeOf(one.first)}).has_value();
  });
  return areAlike ? factors : std::nullopt;
}

/// Returns the operands of `factors` as factors of a tensor.
SmallVector<NamedTensor> multiplied(Value tensor, const Dimensions &dimensions, const Factors &factors) {
  SmallVector<NamedTensor> operands{{tensor, dimensions}};
  llvm::append_range(operands, factors.tensors);
  return operands;
}

/// Returns whether `times` can write the result: it needs no size that is known at run time only.
bool canWriteTimes(const Product &product, Type element, const Dimensions &dimensions, const Factors &factors,
                   bool divides) {
  if (!divides)
    return factors.tensors.empty() || product.canWrite(multiplied({}, dimensions, factors), dimensions);
  return isa<FloatType>(element) && llvm::all_of(factors.tensors, [&](const NamedTensor &divisor) {
           return product.canWrite(divisor, dimensions) ||
                  product.canWrite({{Value(), dimensions}, divisor}, dimensions);
         });
}

/// Divides a tensor of these dimensions by another tensor. A quotient stays a quotient: the inverse of a number above
/// 2^126 would be 0.
Value divided(const Product &product, Value tensor, const Dimensions &dimensions, const NamedTensor &divisor) {
  PatternRewriter &rewriter = product.rewriter;
  Location location = product.op->getLoc();
  RankedTensorType type = widened(tensor);
  if (tensor.getType() != type)
    tensor = arith::ExtFOp::create(rewriter, location, type, tensor);
  SmallVector<NamedTensor> operands{divisor};
  if (!product.canWrite(operands, dimensions))
    operands.insert(operands.begin(), {numberLike(rewriter, location, tensor, 1), dimensions});
  return arith::DivFOp::create(rewriter, location, tensor, product.einsum(operands, dimensions, type, false));
}

/// Multiplies a tensor by the factors, or divides it by them; returns the tensor itself if they are only a condition.
Value times(const Product &product, Value tensor, const Dimensions &dimensions, const Factors &factors, bool divides,
            Type type) {
  if (divides) {
    for (const NamedTensor &divisor : factors.tensors)
      tensor = divided(product, tensor, dimensions, divisor);
    return tensor;
  }
  if (factors.tensors.empty())
    return tensor;
  return product.einsum(multiplied(tensor, dimensions, factors), dimensions, type, false);
}

/// Returns the product with other weights, guarded by the factor's own condition too.
EinsumOp withWeights(const Product &product, unsigned number, Value weights, const Expr &guard) {
  EinsumOp one = product.with(number, weights);
  if (!guard.isConstant(1)) {
    Expr both = product.resolved.guard ? logicalAnd(*product.resolved.guard, guard) : guard;
    both = simplify(both, domainOf(product.resolved.sizes));
    one.setGuardAttr(StringAttr::get(one.getContext(), print(both)));
  }
  return one;
}

// (w ∘ t) · v -> w · (t ∘ v)        if t does not depend on the query
// (w ∘ t) · v -> t ∘ (w · v)        if t does not depend on the key
// f(q · k) ∘ t -> f((q · k) ∘ t)        for weights without a softmax that are also summed up beside the product
// The same if t divides w.
struct MoveScale : ProductPattern {
  explicit MoveScale(MLIRContext *context) : ProductPattern(context, /*benefit=*/2, /*readsIndices=*/true) {}
  LogicalResult rewrite(Product &product) const override {
    if (product.op.getInputs().size() != 2 || !arePlain(product.result()))
      return failure();
    for (unsigned number : {0u, 1u})
      if (arePlain(product.dimensions(number)) && mayHaveFactors(product.op.getInputs()[number]) &&
          succeeded(moveFrom(product, number)))
        return success();
    return failure();
  }

  /// Moves one factor of the weights, which are the operand `number`.
  static LogicalResult moveFrom(Product &product, unsigned number) {
    EinsumOp op = product.op;
    PatternRewriter &rewriter = product.rewriter;
    Value weights = op.getInputs()[number], values = op.getInputs()[1 - number];
    FactorPlace place = softmaxesIn(weights) == 1 ? FactorPlace::outside : placeOfFactors(op, number);
    std::set<std::string> ofValues = axesOf(product.dimensions(1 - number)), ofResult = axesOf(product.result());
    auto isOver = [&](const std::set<std::string> &known) {
      return [&](Value factor) {
        return factorsOver(product, factor, product.dimensions(number), known).has_value();
      };
    };
    if (place == FactorPlace::content) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(weights.getDefiningOp());
      for (const auto &known : {ofValues, ofResult})
        if (Value moved = factorsAtContent(rewriter, weights, isOver(known)))
          return rewriter.replaceAllUsesWith(weights, moved), success();
      return failure();
    }
    if (place == FactorPlace::stays || !feedsProductsOnly(weights.getDefiningOp()))
      return failure();
    if (softmaxesIn(weights) == 1 && moveNumber(rewriter, op, number))
      return success();
    // A value times a factor of keys may leave the range of f32 before its small weight is applied. A factor of a
    // softmax's weights has no other place.
    constexpr double kFarFromTheEnd = 0x1p16;
    bool mayGrow = !softmaxesIn(weights) && !isWithin(values, kFarFromTheEnd);
    auto isOfValues = [&](Value factor) {
      return (!mayGrow || splatValue(factor) || isWithin(factor, 1)) && factorsOfValues(product, number, factor);
    };
    // Keeps values of 16 bits as they are if the factor can be applied to the result.
    bool isLater = !isWide(values);
    for (bool later : {isLater, !isLater})
      if (auto apart = later ? takeFactor(weights, isOver(ofResult)) : takeFactor(weights, isOfValues))
        if (succeeded(later                     ? moveToResult(product, number, *apart)
                      : mayGrow && apart->divides ? failure()
                                                  : moveToValues(product, number, *apart)))
          return success();
    return failure();
  }

  static LogicalResult moveToValues(Product &product, unsigned number, const WeightsApart &apart) {
    const Dimensions &dimensions = product.dimensions(1 - number);
    Value values = product.op.getInputs()[1 - number];
    auto factors = factorsOfValues(product, number, apart.factor);
    if (!factors || (apart.divides && !factors->guard.isConstant(1)))
      return failure();
    if (!arePlain(dimensions)) {
      if (apart.divides || factors->tensors.empty())
        return failure();
      return multiplyRows(product, number, apart, *factors);
    }
    if (!canWriteTimes(product, getElementTypeOrSelf(values), dimensions, *factors, apart.divides))
      return failure();
    Value rest = restOf(product.rewriter, apart);
    Value moved = times(product, values, dimensions, *factors, apart.divides, widened(values));
    EinsumOp one = withWeights(product, number, rest, factors->guard);
    one.getInputsMutable()[1 - number].set(moved);
    product.rewriter.replaceOp(product.op, one);
    return success();
  }

  /// Makes the factors operands of the product. They are read at the same places as the values. Another pattern
  /// multiplies rows that are read at the same places.
  static LogicalResult multiplyRows(Product &product, unsigned number, const WeightsApart &apart,
                                    const Factors &factors) {
    SmallVector<NamedTensor> operands{{apart.partner, product.dimensions(number)},
                                      {product.op.getInputs()[1 - number], product.dimensions(1 - number)}};
    llvm::append_range(operands, factors.tensors);
    if (!product.canWrite(operands, product.result()))
      return failure();
    EinsumOp one = withWeights(product, number, restOf(product.rewriter, apart), factors.guard);
    operands.front().first = one.getInputs()[number];
    Value whole = Product(one, product.rewriter).einsum(operands, product.result(), one.getType(), true);
    product.rewriter.replaceOp(product.op, whole);
    product.rewriter.eraseOp(one);
    return success();
  }

  static LogicalResult moveToResult(Product &product, unsigned number, const WeightsApart &apart) {
    EinsumOp op = product.op;
    auto factors = factorsOver(product, apart.factor, product.dimensions(number), axesOf(product.result()));
    RankedTensorType type = widened(op);
    if (!factors || (apart.divides && !factors->guard.isConstant(1)) ||
        !canWriteTimes(product, type.getElementType(), product.result(), *factors, apart.divides))
      return failure();
    EinsumOp one = withWeights(product, number, restOf(product.rewriter, apart), factors->guard);
    one.getResult().setType(type);
    Value scaled = times(product, one.getResult(), product.result(), *factors, apart.divides, type);
    if (!isWide(op)) // rounded once
      scaled = arith::TruncFOp::create(product.rewriter, op.getLoc(), op.getType(), scaled);
    product.rewriter.replaceOp(op, scaled);
    return success();
  }
};

// (w / f(Σ w)) · v -> (w · v) / f(Σ w)        the weights are never in memory, and the product computes their sums too
struct MoveDivisor : ProductPattern {
  explicit MoveDivisor(MLIRContext *context) : ProductPattern(context, /*benefit=*/1) {}
  LogicalResult rewrite(Product &product) const override {
    EinsumOp op = product.op;
    if (op.getInputs().size() != 2 || !isWide(op))
      return failure();
    const Dimensions &result = product.result();
    for (unsigned number : {0u, 1u}) {
      auto quotient = op.getInputs()[number].getDefiningOp<arith::DivFOp>();
      const Dimensions &weights = product.dimensions(number);
      if (!quotient || !arePlain(weights) || !arePlain(result) ||
          !isMadeOfSums(quotient.getRhs(), quotient.getLhs()) || !feedsProductsOnly(quotient))
        continue;
      auto factors =
          factorsOver(product, quotient.getRhs(), weights, axesOf(result), belowMaps(quotient.getRhs()));
      if (!factors || factors->tensors.size() != 1 || !factors->guard.isConstant(1) ||
          !canWriteTimes(product, getElementTypeOrSelf(op), result, *factors, true))
        continue;
      EinsumOp one = product.with(number, quotient.getLhs());
      product.rewriter.replaceOp(op, divided(product, one.getResult(), result, factors->tensors.front()));
      return success();
    }
    return failure();
  }

  /// Returns the tensor below index maps: a sum of weights counts as one tensor, not as its summands.
  static Value belowMaps(Value tensor) {
    while (Operation *op = tensor.getDefiningOp()) {
      if (!mapOf(op))
        break;
      tensor = op->getOperand(0);
    }
    return tensor;
  }
};
} // namespace

void skewer::populateMoveFactorPatterns(RewritePatternSet &patterns) {
  patterns.add<MoveScale, MoveDivisor>(patterns.getContext());
}
