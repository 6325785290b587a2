// attn-split-products: rewrites products with weights as products of the weights of one softmax, or of one function,
// with one tensor of values.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/Views.h"
#include "passes/Fusion/WeightFactors.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSPLITPRODUCTS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// Differential Transformer has two (arXiv:2410.05258). Each becomes an attention of its own.
static constexpr size_t kMostSoftmaxes = 4;

namespace {
// Operations between a softmax and its product; a tensor that is read twice on the way is visited twice.
static constexpr unsigned kMostOperations = 12;

/// Returns the number of softmaxes that a sum of scaled weights is made of; 0 if the tensor is no such sum.
size_t softmaxesIn(Value tensor, unsigned depth = 0) {
  Operation *op = depth < kMostOperations ? tensor.getDefiningOp() : nullptr;
  if (isa_and_nonnull<SoftmaxOp>(op))
    return 1;
  if (isa_and_nonnull<arith::NegFOp>(op))
    return softmaxesIn(op->getOperand(0), depth + 1);
  if (isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op)) {
    size_t left = softmaxesIn(op->getOperand(0), depth + 1), right = softmaxesIn(op->getOperand(1), depth + 1);
    return right && (left || isa<arith::DivFOp>(op)) ? 0 : left + right;
  }
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return 0;
  size_t left = softmaxesIn(op->getOperand(0), depth + 1);
  size_t right = left ? softmaxesIn(op->getOperand(1), depth + 1) : 0;
  return right && left + right <= kMostSoftmaxes ? left + right : 0;
}

/// Returns whether arithmetic and maps alone make the tensor from row sums of `of`: such a tensor divides weights.
bool isMadeOfSums(Value tensor, Value of, unsigned depth = 0) {
  Operation *op = depth < kMostOperations ? tensor.getDefiningOp() : nullptr;
  if (!op)
    return false;
  if (auto sum = dyn_cast<EinsumOp>(op); sum && sum.getInputs().size() == 1 && !resolve(sum).contracted.empty())
    return sum.getInputs()[0] == of;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<RankedTensorType>(operand.getType()) && isMadeOfSums(operand, of, depth + 1);
  });
}

bool isWide(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType().isF32(); }

/// Returns the type of a tensor computed from values: it is f32, not rounded to the type in which the values are
/// stored.
Type widened(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return RankedTensorType::get(type.getShape(), Float32Type::get(type.getContext()));
}

bool arePlain(const Dimensions &dimensions) {
  return llvm::all_of(dimensions, [](const Dimension &dimension) { return dimension.isProduct(); });
}

/// Returns whether no axis appears twice, as in the diagonal of a matrix: a tensor with these dimensions has all
/// elements.
bool areDistinct(const Dimensions &dimensions) {
  size_t count = 0;
  for (const Dimension &dimension : dimensions)
    count += dimension.axes.size();
  return count == skewer::subscript::axesOf(dimensions).size();
}

/// The factors of a tensor, each by the axes of an einsum, where a condition on the axes holds; the tensor is 0
/// elsewhere.
struct Factors {
  std::vector<std::pair<Value, Dimensions>> tensors;
  Expr guard = 1;
};

/// An einsum that is split into several, with its parts, so that others can be written like it.
struct Product {
  explicit Product(EinsumOp op) : op(op), resolved(resolve(op)), builder(op) {}

  /// Creates the einsum of other operands; null if a size would be known at run time only. `guarded`: with this one's
  /// guard.
  Value einsum(ArrayRef<std::pair<Value, Dimensions>> operands, const Dimensions &result, Type type, bool guarded) {
    Einsum spec;
    std::set<std::string> known;
    AxisSizes sizes;
    SmallVector<Value> inputs;
    for (const auto &[input, dimensions] : operands) {
      inputs.push_back(input);
      spec.operands.push_back(dimensions);
      for (const Dimension &dimension : dimensions)
        if (dimension.isAxis())
          known.insert(dimension.axes.front());
    }
    spec.result = result;
    for (const std::string &axis : spec.axes())
      if (!known.count(axis)) {
        if (resolved.sizes.at(axis) == kRuntime)
          return {};
        sizes[axis] = resolved.sizes.at(axis);
      }
    auto made = EinsumOp::create(builder, op.getLoc(), type, builder.getStringAttr(print(spec)),
                                 sizes.empty() ? DictionaryAttr() : sizesTo(op.getContext(), sizes),
                                 guarded ? op.getGuardAttr() : StringAttr(), inputs);
    bindIndices(made);
    return made;
  }
  /// Divides a tensor of these dimensions by another tensor. A quotient stays a quotient: the inverse of a number above
  /// 2^126 would be 0. Returns null if a size would be known at run time only.
  Value divided(Value tensor, const Dimensions &dimensions, Value divisor, const Dimensions &its) {
    Type type = widened(tensor);
    if (tensor.getType() != type) {
      if (!isa<FloatType>(cast<RankedTensorType>(tensor.getType()).getElementType()))
        return {};
      tensor = arith::ExtFOp::create(builder, op.getLoc(), type, tensor);
    }
    Value everywhere = einsum({{divisor, its}}, dimensions, type, false);
    if (!everywhere)
      everywhere =
          einsum({{numberLike(builder, op.getLoc(), tensor, 1), dimensions}, {divisor, its}}, dimensions, type, false);
    return everywhere ? arith::DivFOp::create(builder, op.getLoc(), tensor, everywhere).getResult() : Value();
  }
  void replace(Value by) {
    op.getResult().replaceAllUsesWith(by);
    op.erase();
  }

  EinsumOp op;
  ResolvedEinsum resolved;
  OpBuilder builder;
};

struct SplitProducts : skewer::impl::AttnSplitProductsBase<SplitProducts> {
  void runOnOperation() override {
    while (splitOne())
      eraseDead(getOperation());
  }

  /// Rewrites one product. Each rewrite leaves fewer operands of a product, or fewer operations between a softmax and
  /// its product.
  bool splitOne() {
    SmallVector<EinsumOp> products;
    getOperation().walk([&](EinsumOp op) { products.push_back(op); });
    return llvm::any_of(products, [](EinsumOp op) {
      Product product(op);
      if (!product.resolved.spec.result || product.resolved.contracted.empty())
        return false;
      if (gatherRows(product))
        return true;
      return op.getIndices().empty() &&
             (widenResult(product) || splitPairs(product) || gatherValues(product) || splitSum(product) ||
              moveScale(product) || moveDivisor(product));
    });
  }

  /// Widens a result of 16 bits, which is rounded once, behind the products that replace it.
  static bool widenResult(Product &product) {
    EinsumOp op = product.op;
    auto isSplit = [](Value input) {
      Operation *made = input.getDefiningOp();
      return isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(made) &&
             (softmaxesIn(input) ||
              (isa<arith::DivFOp>(made) && isMadeOfSums(made->getOperand(1), made->getOperand(0))));
    };
    if (isWide(op) || llvm::none_of(op.getInputs(), isSplit))
      return false;
    auto wide = cast<EinsumOp>(product.builder.clone(*op));
    wide.getResult().setType(cast<RankedTensorType>(widened(op)));
    return product.replace(arith::TruncFOp::create(product.builder, op.getLoc(), op.getType(), wide)), true;
  }

  /// Rewrites Σ over d of q·k·e, where e has one number for each element of the result, as e times the sum of the rest.
  static bool splitPairs(Product &product) {
    EinsumOp op = product.op;
    if (op.getInputs().size() < 3 || !cast<RankedTensorType>(op.getType()).getElementType().isF32())
      return false;
    for (auto [number, dimensions] : llvm::enumerate(product.resolved.spec.operands)) {
      if (!arePlain(dimensions) || print(dimensions) != print(*product.resolved.spec.result) ||
          op.getInputs()[number].getType() != op.getType() || dimensions.size() < 2)
        continue;
      std::vector<std::pair<Value, Dimensions>> rest;
      for (auto [other, input] : llvm::enumerate(op.getInputs()))
        if (other != number)
          rest.push_back({input, product.resolved.spec.operands[other]});
      Value sum = product.einsum(rest, *product.resolved.spec.result, op.getType(), true);
      if (!sum)
        continue;
      Value scaled = arith::MulFOp::create(product.builder, op.getLoc(), sum, op.getInputs()[number]);
      return product.replace(scaled), true;
    }
    return false;
  }

  /// Multiplies the tensors next to the weights into one tensor of values, if one of them has the axes of all.
  static bool gatherValues(Product &product) {
    EinsumOp op = product.op;
    if (op.getInputs().size() < 3)
      return false;
    const std::vector<Dimensions> &operands = product.resolved.spec.operands;
    std::set<std::string> kept = skewer::subscript::axesOf(*product.resolved.spec.result);
    for (auto [weights, input] : llvm::enumerate(op.getInputs())) {
      Operation *made = input.getDefiningOp();
      bool isWeights = softmaxesIn(input) || (made && isa<arith::ArithDialect>(made->getDialect())) ||
                       (isa_and_nonnull<EinsumOp>(made) && cast<EinsumOp>(made).getGuard());
      std::set<std::string> others;
      std::vector<std::pair<Value, Dimensions>> rest;
      size_t base = 0;
      for (auto [other, its] : llvm::enumerate(op.getInputs()))
        if (other != weights) {
          rest.push_back({its, operands[other]});
          others.merge(skewer::subscript::axesOf(operands[other]));
          if (operands[other].size() >= rest[base].second.size())
            base = rest.size() - 1;
        }
      std::set<std::string> own = skewer::subscript::axesOf(operands[weights]);
      bool isQuery = llvm::any_of(own, [&](auto &axis) { return kept.count(axis) && !others.count(axis); });
      // A scale for each block of keys is read at an index of the values' position, (j // 8).
      auto isOfAxes = [&](const Dimension &dimension) {
        return dimension.isProduct() || llvm::all_of(symbolsOf(dimension.index), [&](auto &axis) {
                 return others.count(axis) > 0;
               });
      };
      bool areValues = arePlain(rest[base].second) && areDistinct(rest[base].second) &&
                       skewer::subscript::axesOf(rest[base].second) == others &&
                       llvm::all_of(rest, [&](auto &one) { return llvm::all_of(one.second, isOfAxes); });
      if (!isWeights || !isQuery || !areValues)
        continue;
      Dimensions dimensions = rest[base].second;
      Value values = product.einsum(rest, dimensions, widened(rest[base].first), false);
      if (!values)
        continue;
      Value whole = product.einsum({{input, operands[weights]}, {values, dimensions}}, *product.resolved.spec.result,
                                   op.getType(), true);
      return product.replace(whole), true;
    }
    return false;
  }

  /// Multiplies two tensors that are read at the same rows into one there, if one of them has all dimensions of the
  /// other (a page and its scale).
  static bool gatherRows(Product &product) {
    EinsumOp op = product.op;
    const std::vector<Dimensions> &operands = product.resolved.spec.operands;
    if (operands.size() < 3)
      return false;
    for (size_t whole = 0; whole < operands.size(); ++whole)
      for (size_t part = 0; part < operands.size(); ++part) {
        if (part == whole || arePlain(operands[part]) || operands[part].size() > operands[whole].size())
          continue;
        auto read = readAlike({operands[whole], shapeOf(op.getInputs()[whole])},
                              {operands[part], shapeOf(op.getInputs()[part])});
        if (!read)
          continue;
        Value rows = product.einsum({{op.getInputs()[whole], read->first}, {op.getInputs()[part], read->second}},
                                    read->first, widened(op.getInputs()[whole]), false);
        std::vector<std::pair<Value, Dimensions>> rest;
        for (auto [number, input] : llvm::enumerate(op.getInputs()))
          if (number != part)
            rest.push_back({number == whole ? rows : input, operands[number]});
        Value result = rows ? product.einsum(rest, *product.resolved.spec.result, op.getType(), true) : Value();
        if (result)
          return product.replace(result), true;
      }
    return false;
  }

  /// Returns the dimensions of both with names of their own, the same name where both are read at the same index.
  /// Returns nothing if the part is read at another index, or has another number of rows there: a table may be longer
  /// than what is read of it.
  using Read = std::pair<Dimensions, std::vector<int64_t>>; // how an operand is read, and its shape
  static std::optional<std::pair<Dimensions, Dimensions>> readAlike(const Read &whole, const Read &part) {
    std::pair<Dimensions, Dimensions> named;
    std::vector<std::string> places;
    for (auto [number, dimension] : llvm::enumerate(whole.first)) {
      places.push_back(print({dimension}));
      named.first.emplace_back().axes = {"o" + std::to_string(number)};
    }
    for (auto [dimension, size] : llvm::zip(part.first, part.second)) {
      auto place = llvm::find(places, print({dimension}));
      if (place == places.end() || whole.second[place - places.begin()] != size)
        return std::nullopt;
      named.second.push_back(named.first[place - places.begin()]);
      place->clear(); // a diagonal has two dimensions with one index
    }
    return named;
  }

  /// Rewrites (p - q) · v as p · v - q · v: two attentions, and no weights in memory.
  static bool splitSum(Product &product) {
    EinsumOp op = product.op;
    for (unsigned number = 0; number < op.getInputs().size(); ++number) {
      Operation *sum = op.getInputs()[number].getDefiningOp();
      if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(sum) || softmaxesIn(op.getInputs()[number]) < 2 ||
          !llvm::all_of(sum->getUsers(), [](Operation *user) { return isa<EinsumOp>(user); }))
        continue;
      auto with = [&](Value weights) {
        auto one = cast<EinsumOp>(product.builder.clone(*op));
        one.getInputsMutable()[number].set(weights);
        return one.getResult();
      };
      Value left = with(sum->getOperand(0)), right = with(sum->getOperand(1));
      Value result = isa<arith::AddFOp>(sum)
                         ? arith::AddFOp::create(product.builder, op.getLoc(), left, right).getResult()
                         : arith::SubFOp::create(product.builder, op.getLoc(), left, right).getResult();
      return product.replace(result), true;
    }
    return false;
  }

  /// Rewrites (p ∘ t) · v as p · (t ∘ v) if t does not depend on the query, otherwise as t ∘ (p · v) if t does not
  /// depend on the key. Does the same if t divides p.
  static bool moveScale(Product &product) {
    EinsumOp op = product.op;
    if (op.getInputs().size() != 2)
      return false;
    for (unsigned number : {0u, 1u}) {
      Value weights = op.getInputs()[number];
      const Dimensions &named = product.resolved.spec.operands[number];
      const Dimensions &values = product.resolved.spec.operands[1 - number];
      if (!mayHaveFactors(weights) || !arePlain(named) || !arePlain(values) ||
          !arePlain(*product.resolved.spec.result))
        continue;
      FactorPlace place = softmaxesIn(weights) == 1 ? FactorPlace::outside : placeOfFactors(op, number);
      std::set<std::string> ofValues = skewer::subscript::axesOf(values),
                            ofResult = skewer::subscript::axesOf(*product.resolved.spec.result);
      auto isOver = [&](const std::set<std::string> &known) {
        return [&, known](Value factor) { return factorsOver(product, factor, named, known).has_value(); };
      };
      // A value times a factor of keys may leave the range of f32 before its small weight is applied. A factor of a
      // softmax's weights has no other place.
      constexpr double kFarFromTheEnd = 0x1p16;
      bool mayGrow = !softmaxesIn(weights) && !isWithin(op.getInputs()[1 - number], kFarFromTheEnd);
      auto isOfValues = [&](Value factor) {
        return (!mayGrow || splatValue(factor) || isWithin(factor, 1)) && isOver(ofValues)(factor);
      };
      if (place == FactorPlace::content) {
        OpBuilder builder(weights.getDefiningOp());
        for (const auto &known : {ofValues, ofResult})
          if (Value moved = factorsAtContent(builder, weights, isOver(known)))
            return weights.replaceAllUsesWith(moved), true;
        continue;
      }
      if (place == FactorPlace::stays ||
          !llvm::all_of(weights.getUsers(), [](Operation *user) { return isa<EinsumOp>(user); }))
        continue;
      if (softmaxesIn(weights) == 1 && moveNumber(op, number))
        return true;
      // Keeps values of 16 bits as they are if the factor can be applied to the result.
      bool isLater = !isWide(op.getInputs()[1 - number]);
      for (bool later : {isLater, !isLater})
        if (auto apart = later ? takeFactor(product.builder, weights, isOver(ofResult))
                               : takeFactor(product.builder, weights, isOfValues))
          if (later ? moveToResult(product, number, *apart)
                    : !(mayGrow && apart->divides) && moveToValues(product, number, *apart))
            return true;
    }
    return false;
  }

  /// Rewrites (w / f(Σ w)) · v as (w · v) / f(Σ w): the weights are never in memory, and the product also computes
  /// their sums.
  static bool moveDivisor(Product &product) {
    EinsumOp op = product.op;
    if (op.getInputs().size() != 2 || !cast<RankedTensorType>(op.getType()).getElementType().isF32())
      return false;
    const Dimensions &result = *product.resolved.spec.result;
    for (unsigned number : {0u, 1u}) {
      auto divided = op.getInputs()[number].getDefiningOp<arith::DivFOp>();
      const Dimensions &weights = product.resolved.spec.operands[number];
      if (!divided || !arePlain(weights) || !arePlain(result) || !isMadeOfSums(divided.getRhs(), divided.getLhs()) ||
          !llvm::all_of(divided->getUsers(), [](Operation *user) { return isa<EinsumOp>(user); }))
        continue;
      auto factors = factorsOver(product, divided.getRhs(), weights, skewer::subscript::axesOf(result),
                                 movedFrom(divided.getRhs()));
      if (!factors || factors->tensors.size() != 1 || !factors->guard.isConstant(1))
        continue;
      auto one = cast<EinsumOp>(product.builder.clone(*op));
      one.getInputsMutable()[number].set(divided.getLhs());
      const auto &[divisor, its] = factors->tensors.front();
      Value scaled = product.divided(one.getResult(), result, divisor, its);
      if (!scaled)
        return one.erase(), false;
      return product.replace(scaled), true;
    }
    return false;
  }

  /// Returns the tensor below index maps: a sum of weights counts as one tensor, not as its summands.
  static Value movedFrom(Value tensor) {
    while (Operation *op = tensor.getDefiningOp()) {
      if (!mapOf(op))
        break;
      tensor = op->getOperand(0);
    }
    return tensor;
  }

  /// Multiplies a tensor by the factors, or divides it by them; returns the tensor itself if they are only a condition.
  /// Returns null if the result cannot be written.
  static Value times(Product &product, Value tensor, const Dimensions &dimensions, const Factors &factors,
                     bool divides, Type type) {
    if (divides) {
      for (const auto &[divisor, its] : factors.tensors)
        if (tensor)
          tensor = product.divided(tensor, dimensions, divisor, its);
      return tensor;
    }
    if (factors.tensors.empty())
      return tensor;
    std::vector<std::pair<Value, Dimensions>> operands = factors.tensors;
    operands.insert(operands.begin(), {tensor, dimensions});
    return product.einsum(operands, dimensions, type, false);
  }

  /// Returns the product with other weights, guarded by the factor's own condition too.
  static EinsumOp withWeights(Product &product, unsigned number, Value weights, const Expr &guard) {
    auto one = cast<EinsumOp>(product.builder.clone(*product.op));
    one.getInputsMutable()[number].set(weights);
    if (!guard.isConstant(1)) {
      Expr both = product.resolved.guard ? logicalAnd(*product.resolved.guard, guard) : guard;
      both = simplify(both, domainOf(product.resolved.sizes));
      one.setGuardAttr(StringAttr::get(one.getContext(), print(both)));
    }
    return one;
  }

  static bool moveToValues(Product &product, unsigned number, const WeightsApart &apart) {
    EinsumOp op = product.op;
    const Dimensions &weights = product.resolved.spec.operands[number];
    const Dimensions &values = product.resolved.spec.operands[1 - number];
    auto factors = factorsOver(product, apart.factor, weights, skewer::subscript::axesOf(values));
    if (!factors || (apart.divides && !factors->guard.isConstant(1)))
      return false;
    Value value = op.getInputs()[1 - number];
    Value moved = times(product, value, values, *factors, apart.divides, widened(value));
    if (!moved)
      return false;
    EinsumOp one = withWeights(product, number, apart.rest, factors->guard);
    one.getInputsMutable()[1 - number].set(moved);
    return product.replace(one), true;
  }

  static bool moveToResult(Product &product, unsigned number, const WeightsApart &apart) {
    EinsumOp op = product.op;
    const Dimensions &weights = product.resolved.spec.operands[number], &result = *product.resolved.spec.result;
    auto factors = factorsOver(product, apart.factor, weights, skewer::subscript::axesOf(result));
    if (!factors || (apart.divides && !factors->guard.isConstant(1)))
      return false;
    EinsumOp one = withWeights(product, number, apart.rest, factors->guard);
    one.getResult().setType(cast<RankedTensorType>(widened(op)));
    Value scaled = times(product, one.getResult(), result, *factors, apart.divides, widened(op));
    if (!scaled)
      return one.erase(), false;
    if (!isWide(op)) // rounded once
      scaled = arith::TruncFOp::create(product.builder, op.getLoc(), op.getType(), scaled);
    return product.replace(scaled), true;
  }

  /// Returns a factor that positions decide, as 0 and 1, as a condition of the product.
  static std::optional<Expr> conditionOf(const Factor &factor, const AxisSizes &sizes) {
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
  /// more than a view.
  static std::optional<Factors> factorsOver(const Product &product, Value tensor, const Dimensions &weights,
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
};
} // namespace
