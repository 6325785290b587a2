// Walks from weights back through products and quotients to a factor that does not belong to the score.
#include "passes/Fusion/WeightFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Analysis/Elementwise.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/ScoreFunction.h"
#include "passes/Fusion/Views.h"
#include "llvm/ADT/DenseMap.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// Published layers multiply weights with up to five factors, two of them numbers.
static constexpr unsigned kMostFactors = 12;

/// Returns whether the operation is a condition that leaves each element in its place.
static bool isCondition(Operation *op) {
  auto einsum = dyn_cast_or_null<EinsumOp>(op);
  if (!einsum || !isView(einsum) || !einsum.getIndices().empty())
    return false;
  Einsum spec = resolve(einsum).spec;
  return print(spec.operands[0]) == print(*spec.result);
}

bool skewer::mayHaveFactors(Value weights) {
  Operation *op = weights.getDefiningOp();
  return isa_and_nonnull<arith::MulFOp, arith::DivFOp, arith::NegFOp>(op) || isCondition(op);
}

namespace {
/// Computes ranges of tensors, from operation to operation; elements that are read from memory may have any value.
struct TensorRanges {
  RealRange of(Value tensor, unsigned depth = 0) {
    constexpr unsigned kDeepest = 64; // a softplus is 30 operations
    const RealRange anything{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    if (auto number = splatValue(tensor))
      return {*number, *number};
    constexpr double kLargestF16 = 65504;
    if (getElementTypeOrSelf(tensor.getType()).isF16())
      return {-kLargestF16, kLargestF16};
    Operation *op = tensor.getDefiningOp();
    if (!op || depth > kDeepest)
      return anything;
    if (auto found = known.find(tensor); found != known.end())
      return found->second;
    RealRange range = anything;
    if (isa<SoftmaxOp>(op)) {
      range = {0, 1};
    } else if (isElementwise(op)) {
      SmallVector<RealRange> operands;
      for (Value operand : op->getOperands())
        operands.push_back(of(operand, depth + 1));
      range = rangeOf(op, operands);
    } else if (mapOf(op)) {
      range = of(op->getOperand(0), depth + 1);
      range = {std::min(range.low, 0.0), std::max(range.high, 0.0)}; // zeros may pad it
    } else if (auto position = dyn_cast<PositionOp>(op)) {
      auto expression = parse(std::string_view(position.getExpression()));
      auto bounds = expression ? bound(*expression, {}) : std::nullopt;
      if (bounds)
        range = {double(bounds->range.low), double(bounds->range.high)};
    }
    return known[tensor] = range;
  }
  llvm::DenseMap<Value, RealRange> known;
};
} // namespace

bool skewer::isWithin(Value tensor, double most) { return TensorRanges().of(tensor).isWithin(most); }

/// Returns how many of the operation's operands, from the first, its result is a multiple of.
static unsigned multipliedOperands(Operation *op) { return isa<arith::MulFOp>(op) ? 2 : 1; }

static std::optional<WeightsApart> takeFactor(Value weights, llvm::function_ref<bool(Value)> moves, unsigned depth) {
  Operation *op = depth < kMostFactors ? weights.getDefiningOp() : nullptr;
  if (!op || !mayHaveFactors(weights) || (depth > 0 && !weights.hasOneUse()))
    return std::nullopt;
  bool isQuotient = isa<arith::DivFOp>(op);
  if (op->getNumOperands() == 2)
    for (unsigned side : {1u, 0u}) {
      Value factor = op->getOperand(side);
      if (!(isQuotient && side == 0) && moves(factor))
        return WeightsApart{factor, isQuotient, op->getOperand(1 - side), {}};
    }
  for (unsigned side = 0; side < multipliedOperands(op); ++side)
    if (auto below = takeFactor(op->getOperand(side), moves, depth + 1)) {
      below->above.insert(below->above.begin(), {op, side});
      return below;
    }
  return std::nullopt;
}

std::optional<WeightsApart> skewer::takeFactor(Value weights, llvm::function_ref<bool(Value)> moves) {
  return ::takeFactor(weights, moves, 0);
}

Value skewer::restOf(OpBuilder &builder, const WeightsApart &apart) {
  Value rest = apart.partner;
  for (auto [op, side] : llvm::reverse(apart.above)) {
    Operation *one = builder.clone(*op);
    one->setOperand(side, rest);
    rest = one->getResult(0);
  }
  return rest;
}

/// Returns whether the operation is a product of queries and keys.
static bool isProductOfTwo(EinsumOp einsum) {
  return einsum.getInputs().size() > 1 && !resolve(einsum).contracted.empty();
}

/// Returns whether `withContent` finds a product of queries and keys in the weights.
static bool hasContent(Value weights, unsigned depth = 0) {
  Operation *op = depth < kMostFactors ? weights.getDefiningOp() : nullptr;
  if (auto content = dyn_cast_or_null<EinsumOp>(op); content && !isView(content))
    return isProductOfTwo(content);
  return op && mayHaveFactors(weights) &&
         llvm::any_of(op->getOperands().take_front(multipliedOperands(op)),
                      [&](Value operand) { return hasContent(operand, depth + 1); });
}

/// Returns whether the weights without the factor have such a product.
static bool hasContent(const WeightsApart &apart) {
  return hasContent(apart.partner) || llvm::any_of(apart.above, [](auto &place) {
           auto [op, side] = place;
           return multipliedOperands(op) == 2 && hasContent(op->getOperand(1 - side));
         });
}

/// Multiplies or divides the product of queries and keys inside the weights by the factor; returns null if that product
/// is no factor of the weights.
static Value withContent(OpBuilder &builder, Value weights, const WeightsApart &apart, unsigned depth = 0) {
  Operation *op = depth < kMostFactors ? weights.getDefiningOp() : nullptr;
  if (auto content = dyn_cast_or_null<EinsumOp>(op); content && !isView(content)) {
    if (!isProductOfTwo(content))
      return {};
    if (apart.divides)
      return arith::DivFOp::create(builder, op->getLoc(), weights, apart.factor);
    return arith::MulFOp::create(builder, op->getLoc(), weights, apart.factor);
  }
  if (!op || !mayHaveFactors(weights))
    return {};
  for (unsigned side = 0; side < multipliedOperands(op); ++side) {
    Value below = withContent(builder, op->getOperand(side), apart, depth + 1);
    if (!below)
      continue;
    Operation *one = builder.clone(*op);
    one->setOperand(side, below);
    return one->getResult(0);
  }
  return {};
}

/// Returns whether a tensor is the product of queries and keys, times such factors alone: a factor that multiplies it
/// is not moved again.
static bool isContent(Value tensor, llvm::function_ref<bool(Value)> moves) {
  Operation *op = tensor.getDefiningOp();
  if (auto einsum = dyn_cast_or_null<EinsumOp>(op))
    return isProductOfTwo(einsum);
  return isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op) && isContent(op->getOperand(0), moves) &&
         moves(op->getOperand(1));
}

Value skewer::factorsAtContent(OpBuilder &builder, Value weights, llvm::function_ref<bool(Value)> moves) {
  auto isApart = [&](Value factor) {
    return moves(factor) && llvm::none_of(factor.getUsers(), [&](Operation *user) {
             return isa<arith::MulFOp, arith::DivFOp>(user) && isContent(user->getOperand(0), moves);
           });
  };
  auto apart = takeFactor(weights, isApart);
  return apart && hasContent(*apart) ? withContent(builder, restOf(builder, *apart), *apart) : Value();
}

bool skewer::moveNumber(RewriterBase &rewriter, EinsumOp product, unsigned operand) {
  if (!getElementTypeOrSelf(product).isF32())
    return false;
  auto apart =
      takeFactor(product.getInputs()[operand], [](Value factor) { return splatValue(factor).has_value(); });
  if (!apart)
    return false;
  Value rest = restOf(rewriter, *apart);
  auto one = cast<EinsumOp>(rewriter.clone(*product));
  one.getInputsMutable()[operand].set(rest);
  Value number = numberLike(rewriter, product.getLoc(), one, *splatValue(apart->factor));
  if (apart->divides)
    rewriter.replaceOpWithNewOp<arith::DivFOp>(product, one, number);
  else
    rewriter.replaceOpWithNewOp<arith::MulFOp>(product, one, number);
  return true;
}

FactorPlace skewer::placeOfFactors(EinsumOp product, unsigned operand) {
  ResolvedEinsum resolved = resolve(product);
  Value weights = product.getInputs()[operand];
  const Dimensions &named = resolved.spec.operands[operand];
  std::set<std::string> kept = axesOf(*resolved.spec.result), shared = axesOf(resolved.spec.operands[1 - operand]);
  // A dimension that the values lack is a query dimension; one that the result lacks is a key dimension.
  std::optional<size_t> query, key;
  std::vector<Expr> at;
  Domain domain;
  std::vector<int64_t> shape = shapeOf(weights);
  for (auto [k, dimension] : llvm::enumerate(named)) {
    const std::vector<std::string> &axes = dimension.axes;
    auto isIn = [&axes](const std::set<std::string> &others) {
      return llvm::any_of(axes, [&](const std::string &axis) { return others.count(axis) > 0; });
    };
    if (!axes.empty() && !isIn(kept))
      key = k;
    else if (!axes.empty() && !isIn(shared) && !(query && shape[k] == 1))
      query = k;
    std::string name = "w" + std::to_string(k);
    at.push_back(Expr::symbol(name));
    if (shape[k] != kRuntime)
      domain[name] = {0, shape[k] - 1};
  }
  if (!key || !query)
    return FactorPlace::stays;
  std::string queryAxis = "w" + std::to_string(*query), keyAxis = "w" + std::to_string(*key);
  for (const std::string &axis : {queryAxis, keyAxis})
    if (auto range = domain.find(axis); range != domain.end() && range->second.high == 0)
      domain.erase(range); // a single query is still a query
  if (!holdsContent({weights, at}, queryAxis, keyAxis, domain))
    return FactorPlace::stays;
  bool isAlone = llvm::all_of(weights.getUsers(), [](Operation *user) {
    auto einsum = dyn_cast<EinsumOp>(user);
    return einsum && einsum.getInputs().size() == 2;
  });
  auto function = ScoreFunction::find({weights, at}, queryAxis, keyAxis, domain, std::nullopt, true);
  constexpr size_t kFewSums = 2; // with a third sum the factor costs its own row of numbers and a product for each pair
  if (function && function->sums.size() <= kFewSums && (!isAlone || function->isIdentity()))
    return FactorPlace::stays;
  return isAlone ? FactorPlace::outside : FactorPlace::content;
}
