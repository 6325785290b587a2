// Sums, differences, products, quotients and functions of tensors as summands.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/Views.h"
#include <cmath>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

static constexpr size_t kMostProducts = 8; // a product of sums is written out up to this many terms
// A number beside a tensor that is a term of its own, or dropped, costs the digits below it: scores of this size have them.
static constexpr double kLargeNumber = 16;

std::vector<Summand> Expansion::expandProduct(Operation *op, const std::vector<Expr> &at) {
  std::vector<Summand> left = expandBelow(op->getOperand(0), at), right = expandBelow(op->getOperand(1), at), products;
  if (left.size() * right.size() > kMostProducts)
    return {leaf(op->getResult(0), at)};
  for (const Summand &a : left)
    for (const Summand &b : right) {
      if (a.application && b.application)
        return {leaf(op->getResult(0), at)};
      // A contraction times another tensor is no term of a known class: it stays a tensor of its own.
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

/// Nothing unless a contraction is divided by a product of tensors.
std::optional<std::vector<Summand>> Expansion::expandQuotient(Operation *op, const std::vector<Expr> &at) {
  std::vector<Summand> divisors = expandBelow(op->getOperand(1), at);
  if (divisors.size() != 1 || divisors[0].factors.empty() || !divisors[0].contracted.empty() || divisors[0].value ||
      divisors[0].application || divisors[0].scale == 0 || !divisors[0].guard.isConstant(1))
    return std::nullopt;
  std::vector<Summand> quotients = expandBelow(op->getOperand(0), at);
  if (llvm::none_of(quotients, [](const Summand &summand) { return !summand.contracted.empty(); }))
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

/// Nothing unless each argument is an element of one tensor, or a whole number that positions decide.
std::optional<Summand> Expansion::expandApplication(ApplyOp op, const std::vector<Expr> &at) {
  Summand summand(op.getLoc());
  Application application;
  application.function = findElementFunction(op.getContext(), op.getFunction());
  for (Value input : op.getInputs()) {
    std::vector<Summand> parts = expandBelow(input, at);
    // Rounded once, as the tensor is: 32 bits hold whole numbers up to 2^24.
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

/// A number that positions decide. Nothing if an axis of it has no size.
std::optional<Summand> Expansion::expandPosition(PositionOp op, const std::vector<Expr> &at) const {
  auto dimensions = parseDimensions(std::string_view(op.getAxes()));
  auto expression = parse(std::string_view(op.getExpression()));
  if (!dimensions || !expression || dimensions->size() != at.size() || isNumberOfCall(op))
    return std::nullopt;
  Einsum spec;
  spec.operands = {*dimensions};
  AxisSizes sizes;
  if (auto all = resolveSizes(spec, {shapeOf(op.getResult())}, sizesFrom(op.getSizesAttr())))
    sizes = *all;
  Substitution axes;
  for (auto [dimension, index] : llvm::zip(*dimensions, at)) {
    auto parts = splitProduct(index, dimension.axes, sizes);
    if (!parts)
      return std::nullopt;
    for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
      axes[axis] = simplified(part);
  }
  Summand summand(op.getLoc());
  summand.value = simplified(substitute(*expression, axes));
  return summand;
}

/// Nothing where the operation is no arithmetic that may be looked through.
std::optional<std::vector<Summand>> Expansion::expandArithmetic(Operation *op, const std::vector<Expr> &at) {
  auto dividedBy = [&](double divisor) {
    std::vector<Summand> summands = expandBelow(op->getOperand(0), at);
    for (Summand &summand : summands)
      summand.scale /= divisor;
    return summands;
  };
  if (auto number = splatValue(op->getResult(0))) {
    Summand summand(op->getLoc());
    summand.scale = *number;
    return std::vector<Summand>{summand};
  }
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    std::vector<Summand> sum = expandBelow(op->getOperand(0), at);
    for (Summand &summand : expandBelow(op->getOperand(1), at)) {
      if (isa<arith::SubFOp>(op))
        summand.scale = -summand.scale;
      sum.push_back(std::move(summand));
    }
    return sum;
  }
  if (isa<arith::NegFOp>(op))
    return dividedBy(-1);
  if (isa<arith::MulFOp>(op))
    return expandProduct(op, at);
  if (isa<arith::DivFOp>(op)) {
    if (auto divisor = splatValue(op->getOperand(1)))
      return dividedBy(*divisor);
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

static bool isNumber(const Summand &summand) {
  return summand.factors.empty() && !summand.value && !summand.application && summand.contracted.empty() &&
         summand.guard.isConstant(1);
}

/// Whether a sum may be written out: (mask - 1) * 1e9 is 0 where the mask is 1, and as two terms it is 1e9 there, in
/// whose f32 no score is left. A number goes to what positions decide, where it is whole in its steps.
bool Expansion::keepsDigits(std::vector<Summand> &summands) const {
  double number = 0;
  bool isLarge = false;
  std::vector<Summand> others;
  for (const Summand &summand : summands) {
    if (!isNumber(summand)) {
      others.push_back(summand);
      continue;
    }
    number += summand.scale;
    isLarge |= std::fabs(summand.scale) > kLargeNumber;
  }
  // Beside a product of queries and keys a number is what it says.
  if (!isLarge || others.empty() || llvm::any_of(others, [](const Summand &one) { return !one.contracted.empty(); }))
    return true;
  Summand &only = others.front();
  double steps = number / only.scale;
  if (others.size() != 1 || !only.value || !only.factors.empty() || only.application || !only.guard.isConstant(1) ||
      steps != std::floor(steps) || std::fabs(steps) >= (1 << 24))
    return false;
  only.value = simplified(*only.value + Expr(static_cast<int64_t>(steps)));
  summands = std::move(others);
  return true;
}
