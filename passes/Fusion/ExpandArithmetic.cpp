// Expands sums, differences, products, quotients and functions of tensors into summands.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/Views.h"
#include <cmath>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

static constexpr size_t kMostProducts = 8; // most terms that a product with a sum is written out to

/// Returns whether query and key both index the summand: it is a number for each pair.
bool Expansion::isOfPairs(const Summand &summand) const {
  auto reads = [&](const std::string &axis) {
    // A single position has no index that could appear in a subscript.
    auto range = domain.find(axis);
    return axis.empty() || (range != domain.end() && range->second.low == range->second.high) ||
           llvm::any_of(summand.factors, [&](const Factor &factor) {
             return llvm::any_of(factor.subscripts, [&](const Expr &e) { return symbolsOf(e).count(axis) > 0; });
           });
  };
  return reads(options.query) && reads(options.key);
}

/// Returns whether the summand is a contraction that query and key both index: such a product makes a score.
bool Expansion::isProduct(const Summand &summand) const { return !summand.contracted.empty() && isOfPairs(summand); }

bool Expansion::holdsProduct(const std::vector<Summand> &summands) const {
  return llvm::any_of(summands, [&](const Summand &summand) { return isProduct(summand); });
}

static bool isOfPositions(const Summand &summand) {
  return summand.factors.empty() && !summand.application && summand.contracted.empty() && summand.guard.isConstant(1);
}

/// Returns whether the summand is one of two numbers that positions select, one of which is 0. If it is added to
/// something else, it changes none of its digits, or leaves none.
bool Expansion::isStep(const Summand &summand) const {
  if (!summand.factors.empty() || summand.application || !summand.contracted.empty() || !summand.value)
    return false;
  auto range = bound(*summand.value, domain);
  return range && range->range.low >= 0 && range->range.high <= 1;
}

/// Returns the sum of two numbers that positions decide, if one is a whole multiple of the other's scale.
std::optional<Summand> Expansion::addPositions(const Summand &a, const Summand &b) const {
  constexpr int64_t kMost = 1 << 24; // f32 holds whole numbers up to this one
  if (!isOfPositions(a) || !isOfPositions(b) || a.scale == 0 || b.scale == 0)
    return std::nullopt;
  const Summand &unit = std::fabs(a.scale) <= std::fabs(b.scale) || !b.value ? a : b;
  const Summand &other = &unit == &a ? b : a;
  double steps = other.scale / unit.scale;
  if (steps != std::floor(steps) || std::fabs(steps) >= kMost)
    return std::nullopt;
  Summand sum = unit;
  sum.value = simplified(unit.value.value_or(Expr(1)) + Expr(int64_t(steps)) * other.value.value_or(Expr(1)));
  auto range = bound(*sum.value, domain);
  if (unit.value && other.value && (!range || range->range.low < -kMost || range->range.high > kMost))
    return std::nullopt;
  return sum;
}

/// Computes a sum without a product as the program writes it, before it is added to anything else: terms that cancel in
/// it would otherwise cancel only after the scores are rounded.
std::vector<Summand> Expansion::asOne(std::vector<Summand> summands, Value of, const std::vector<Expr> &at) {
  size_t others = llvm::count_if(summands, [&](const Summand &summand) { return !isStep(summand); });
  if (others <= 1 || holdsProduct(summands))
    return summands;
  Summand one = leaf(of, at);
  // Compute the sum where it is smallest, not where an einsum with ones has repeated it.
  while (auto einsum = one.factors.front().operand.getDefiningOp<EinsumOp>()) {
    auto composed = isView(einsum) ? std::nullopt : composeEinsum(einsum, one.factors.front().subscripts);
    if (!composed || composed->factors.size() != 1 || !composed->contracted.empty() || composed->value)
      break;
    composed->scale *= one.scale;
    composed->guard = logicalAnd(one.guard, composed->guard);
    one = std::move(*composed);
  }
  return {one};
}

/// Returns the summands of a tensor, multiplied or divided by a number. A sum without a product is written out only if
/// the number (a power of two) changes none of its digits.
std::vector<Summand> Expansion::scaled(Value tensor, double number, bool divides, const std::vector<Expr> &at) {
  std::vector<Summand> summands = expandBelow(tensor, at);
  int exponent;
  if (std::fabs(std::frexp(number, &exponent)) != 0.5)
    summands = asOne(std::move(summands), tensor, at);
  for (Summand &summand : summands)
    summand.scale = divides ? summand.scale / number : summand.scale * number;
  return summands;
}

/// Writes a sum out if it holds products, which the program itself adds to the scores. A sum of two tensors without
/// products is rounded once, wherever it is computed. A side that is a sum itself counts as one tensor if it is smaller
/// than the scores: a number for each query, or for each key. Returns nothing if the sum must stay one tensor.
std::optional<std::vector<Summand>> Expansion::expandSum(Operation *op, const std::vector<Expr> &at) {
  std::vector<Summand> sides[2];
  for (unsigned side : {0u, 1u}) {
    sides[side] = expandBelow(op->getOperand(side), at);
    llvm::erase_if(sides[side], [](const Summand &summand) { return isOfPositions(summand) && summand.scale == 0; });
    if (side == 1 && isa<arith::SubFOp>(op))
      for (Summand &summand : sides[1])
        summand.scale = -summand.scale;
  }
  bool negates = isa<arith::SubFOp>(op);
  if (sides[0].size() == 1 && sides[1].size() == 1)
    if (auto sum = addPositions(sides[0].front(), sides[1].front()))
      return std::vector<Summand>{*sum};
  bool holds = holdsProduct(sides[0]) || holdsProduct(sides[1]);
  auto isFree = [&](const std::vector<Summand> &side) {
    return llvm::all_of(side, [&](const Summand &summand) { return isStep(summand); });
  };
  // `asOne` may make one summand of a sum: it is not negated yet.
  auto takeAsOne = [&](unsigned side, std::vector<Summand> one) {
    if (side == 1 && negates && one.size() != sides[side].size())
      for (Summand &summand : one)
        summand.scale = -summand.scale;
    sides[side] = std::move(one);
  };
  if (!holds)
    for (unsigned side : {0u, 1u})
      if (std::vector<Summand> one = asOne(sides[side], op->getOperand(side), at);
          one.size() == 1 && sides[side].size() > 1 && !isOfPairs(one.front()))
        takeAsOne(side, std::move(one));
  if (holds || isFree(sides[0]) || isFree(sides[1]))
    for (unsigned side : {0u, 1u})
      takeAsOne(side, asOne(sides[side], op->getOperand(side), at));
  else if (sides[0].size() != 1 || sides[1].size() != 1 ||
           (isOfPositions(sides[0].front()) && !sides[0].front().value) ||
           (isOfPositions(sides[1].front()) && !sides[1].front().value))
    return std::nullopt;
  sides[0].insert(sides[0].end(), sides[1].begin(), sides[1].end());
  if (sides[0].empty())
    return std::nullopt; // zeros
  return std::move(sides[0]);
}

std::vector<Summand> Expansion::expandProduct(Operation *op, const std::vector<Expr> &at) {
  for (unsigned side : {0u, 1u})
    if (auto number = splatValue(op->getOperand(side)); number && std::isfinite(*number))
      return scaled(op->getOperand(1 - side), *number, false, at);
  std::vector<Summand> left = asOne(expandBelow(op->getOperand(0), at), op->getOperand(0), at),
                       right = asOne(expandBelow(op->getOperand(1), at), op->getOperand(1), at), products;
  if ((left.size() > 1 && right.size() > 1) || left.size() * right.size() > kMostProducts)
    return {leaf(op->getResult(0), at)};
  for (const Summand &a : left)
    for (const Summand &b : right) {
      if (a.application && b.application)
        return {leaf(op->getResult(0), at)};
      // A contraction times another tensor is a term of no known class: it stays a tensor of its own.
      bool scaled = (!a.contracted.empty() && !b.factors.empty()) || (!b.contracted.empty() && !a.factors.empty());
      if (scaled && !(options.scaledContractions && (a.contracted.empty() || b.contracted.empty())))
        return {leaf(op->getResult(0), at)};
      Summand product(a.factors.empty() && !b.factors.empty() ? b.location : a.location);
      product.scale = a.scale * b.scale;
      product.factors = a.factors;
      product.factors.insert(product.factors.end(), b.factors.begin(), b.factors.end());
      product.application = a.application ? a.application : b.application;
      if (b.application)
        for (Application::Argument &argument : product.application->arguments)
          if (argument.operand >= 0)
            argument.operand += static_cast<int>(a.factors.size());
      product.guard = logicalAnd(a.guard, b.guard);
      if (a.value && b.value)
        product.value = simplified(*a.value * *b.value, product.guard);
      else
        product.value = a.value ? a.value : b.value;
      product.contracted = a.contracted;
      product.contracted.insert(b.contracted.begin(), b.contracted.end());
      products.push_back(std::move(product));
    }
  return products;
}

/// Returns the quotients; nothing unless contractions are divided by a product of tensors. Each divisor divides one of
/// the vectors.
std::optional<std::vector<Summand>> Expansion::expandQuotient(Operation *op, const std::vector<Expr> &at) {
  std::vector<Summand> divisors = asOne(expandBelow(op->getOperand(1), at), op->getOperand(1), at);
  if (divisors.size() != 1 || divisors[0].factors.empty() || !divisors[0].contracted.empty() || divisors[0].value ||
      divisors[0].application || divisors[0].scale == 0 || !divisors[0].guard.isConstant(1))
    return std::nullopt;
  std::vector<Summand> quotients = expandBelow(op->getOperand(0), at);
  if (llvm::any_of(quotients, [](const Summand &summand) { return summand.contracted.empty(); }))
    return std::nullopt;
  for (Summand &summand : quotients) {
    summand.scale /= divisors[0].scale;
    for (Factor divisor : divisors[0].factors) {
      divisor.inverse = !divisor.inverse;
      summand.factors.push_back(std::move(divisor));
    }
  }
  return quotients;
}

/// Returns the application; nothing unless each argument is an element of one tensor, or a whole number that positions
/// decide.
std::optional<Summand> Expansion::expandApplication(ApplyOp op, const std::vector<Expr> &at) {
  Summand summand(op.getLoc());
  Application application;
  application.function = findElementFunction(op.getContext(), op.getFunction());
  for (Value input : op.getInputs()) {
    std::vector<Summand> parts = expandBelow(input, at);
    // The argument is rounded once, as the tensor is: f32 holds whole numbers up to 2^24.
    if (parts.size() != 1 || parts[0].application || !parts[0].guard.isConstant(1) || !parts[0].contracted.empty())
      return std::nullopt;
    const Summand &part = parts[0];
    Application::Argument argument;
    if (part.factors.size() == 1 && !part.value && part.scale == 1) {
      argument.operand = static_cast<int>(summand.factors.size());
      summand.factors.push_back(part.factors[0]);
    } else if (part.factors.empty() && part.scale == std::floor(part.scale) && std::fabs(part.scale) < (1 << 24)) {
      argument.position = part.value.value_or(Expr(1)) * Expr(static_cast<int64_t>(part.scale));
    } else {
      return std::nullopt;
    }
    application.arguments.push_back(std::move(argument));
  }
  summand.application = std::move(application);
  return summand;
}

/// Returns a number that positions decide; nothing if one of its axes has no size.
std::optional<Summand> Expansion::expandPosition(PositionOp op, const std::vector<Expr> &at) const {
  auto dimensions = parseDimensions(std::string_view(op.getAxes()));
  auto expression = parse(std::string_view(op.getExpression()));
  if (!dimensions || !expression || isNumberOfCall(op))
    return std::nullopt;
  Einsum spec;
  spec.operands = {*dimensions};
  AxisSizes sizes;
  if (auto all = resolveSizes(spec, {shapeOf(op.getResult())}, sizesFrom(op.getSizesAttr())))
    sizes = *all;
  auto axes = axesAt(*dimensions, at, sizes);
  if (!axes)
    return std::nullopt;
  for (auto &[axis, place] : *axes)
    place = simplified(place);
  Summand summand(op.getLoc());
  summand.value = simplified(substitute(*expression, *axes));
  return summand;
}

/// Returns the summands; nothing if the operation is not arithmetic that may be looked through.
std::optional<std::vector<Summand>> Expansion::expandArithmetic(Operation *op, const std::vector<Expr> &at) {
  if (auto number = splatValue(op->getResult(0))) {
    Summand summand(op->getLoc());
    summand.scale = *number;
    return std::vector<Summand>{summand};
  }
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return expandSum(op, at);
  if (isa<arith::NegFOp>(op))
    return scaled(op->getOperand(0), -1, false, at);
  if (isa<arith::MulFOp>(op))
    return expandProduct(op, at);
  if (isa<arith::DivFOp>(op)) {
    if (auto divisor = splatValue(op->getOperand(1)))
      return scaled(op->getOperand(0), *divisor, true, at);
    return options.scaledContractions ? expandQuotient(op, at) : std::nullopt;
  }
  std::optional<Summand> one;
  if (auto apply = dyn_cast<ApplyOp>(op); apply && options.functions)
    one = expandApplication(apply, at);
  else if (auto position = dyn_cast<PositionOp>(op))
    one = expandPosition(position, at);
  if (one)
    return std::vector<Summand>{*one};
  return std::nullopt;
}
