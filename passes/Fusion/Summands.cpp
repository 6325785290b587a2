// Looking through arithmetic, index maps and einsums.
#include "passes/Fusion/Summands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/Fusion/Provenance.h"
#include <cmath>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
constexpr size_t kMostProducts = 8; // a product of sums is written out up to this many terms

/// Contracted axes and heads must be read at even strides: a tile of them is loaded at once.
bool readsEvenly(const std::vector<Expr> &subscripts, const std::vector<int64_t> &extents, const AxisSizes &contracted,
                 const Domain &domain, const ExpansionOptions &options) {
  for (auto [subscript, extent] : llvm::zip(subscripts, extents)) {
    if (subscript.isSymbol())
      continue;
    AxisSizes sizes;
    bool summed = false, head = false, others = false;
    for (const std::string &symbol : symbolsOf(subscript)) {
      auto range = domain.find(symbol);
      sizes[symbol] = range == domain.end() ? kRuntime : range->second.high + 1;
      (contracted.count(symbol) ? summed : options.plain.count(symbol) ? head : others) = true;
    }
    if (summed && (!options.products || !dimensionFor(subscript, sizes, extent).isProduct()))
      return false;
    if (head && !summed && others && !asAffine(subscript, domain))
      return false;
  }
  return true;
}
} // namespace

bool skewer::hasText(const Expr &e) {
  constexpr size_t kMaximumRows = 1 << 18, kMaximumText = 1 << 15;
  if (e.kind() == Kind::Table && (e.table().size() > kMaximumRows || print(e).size() > kMaximumText))
    return false;
  return llvm::all_of(e.operands(), [](const Expr &operand) { return hasText(operand); });
}

bool skewer::isView(EinsumOp op) { return op.getInputs().size() == 1 && resolve(op).contracted.empty(); }

std::optional<skewer::attn::IndexMap> skewer::mapOf(Operation *op) {
  if (auto map = dyn_cast_or_null<IndexMapOpInterface>(op))
    return map.getIndexMap();
  auto einsum = dyn_cast_or_null<EinsumOp>(op);
  if (!einsum || !isView(einsum))
    return std::nullopt;
  ResolvedEinsum resolved = resolve(einsum);
  if (!resolved.spec.result)
    return std::nullopt;
  Substitution axes;
  for (auto [k, dimension] : llvm::enumerate(*resolved.spec.result)) {
    auto parts = splitProduct(Expr::symbol("d" + std::to_string(k)), dimension.axes, resolved.sizes);
    if (!parts)
      return std::nullopt;
    for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
      axes[axis] = part;
  }
  attn::IndexMap map;
  for (const Expr &subscript : resolved.subscripts[0])
    map.subscripts.push_back(substitute(subscript, axes));
  if (resolved.guard)
    map.inside = substitute(*resolved.guard, axes);
  return map;
}

std::optional<double> skewer::splatValue(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return std::nullopt;
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements)) && elements.isSplat() && isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  FloatAttr number;
  if (matchPattern(tensor, m_Constant(&number)))
    return number.getValueAsDouble();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return splatValue(splat.getInput());
  if (auto position = dyn_cast<PositionOp>(op))
    if (auto expression = parse(std::string_view(position.getExpression())))
      if (Expr simple = simplify(*expression); simple.isConstant())
        return double(simple.value());
  if (auto map = mapOf(op); map && map->inside.isConstant(1))
    return splatValue(op->getOperand(0));
  if (isa<arith::NegFOp>(op))
    if (auto a = splatValue(op->getOperand(0)))
      return -*a;
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op)) {
    auto a = splatValue(op->getOperand(0)), b = splatValue(op->getOperand(1));
    if (a && b)
      return isa<arith::AddFOp>(op)   ? *a + *b
             : isa<arith::SubFOp>(op) ? *a - *b
             : isa<arith::MulFOp>(op) ? *a * *b
                                      : *a / *b;
  }
  return std::nullopt;
}

std::optional<std::vector<Expr>> skewer::splitProduct(const Expr &index, const std::vector<std::string> &axes,
                                                      const AxisSizes &sizes) {
  std::vector<Expr> parts(axes.size());
  int64_t stride = 1;
  for (size_t k = axes.size(); k-- > 0;) {
    Expr quotient = stride == 1 ? index : floorDiv(index, stride);
    if (k == 0) {
      parts[0] = quotient;
      break;
    }
    auto size = sizes.find(axes[k]);
    if (size == sizes.end() || size->second == kRuntime)
      return std::nullopt;
    parts[k] = mod(quotient, size->second);
    if (__builtin_mul_overflow(stride, size->second, &stride))
      return std::nullopt;
  }
  return parts;
}

Dimension skewer::dimensionFor(const Expr &index, const AxisSizes &sizes, int64_t extent) {
  Dimension dimension;
  dimension.index = index;
  if (extent != kRuntime && index.isSymbol()) {
    // Part of a dimension, or more than it under a guard: "(j)" would be the axis j itself, min(j, extent - 1) is j
    // too.
    auto size = sizes.find(index.name());
    if (size != sizes.end() && size->second != kRuntime && size->second != extent) {
      dimension.index = min(index, Expr(extent - 1));
      return dimension;
    }
  }
  auto affine = asAffine(index, domainOf(sizes));
  if (!affine || affine->constant != 0 || affine->coefficients.empty())
    return dimension;
  std::vector<std::pair<int64_t, std::string>> strides;
  for (const auto &[axis, coefficient] : affine->coefficients)
    strides.push_back({coefficient, axis});
  std::sort(strides.begin(), strides.end(), [](auto &a, auto &b) { return a.first > b.first; });
  int64_t expected = 1;
  for (size_t k = strides.size(); k-- > 0;) {
    if (strides[k].first != expected)
      return dimension;
    auto size = sizes.find(strides[k].second);
    if (size == sizes.end())
      return dimension;
    if (k > 0 && (size->second == kRuntime || __builtin_mul_overflow(expected, size->second, &expected)))
      return dimension;
  }
  auto outermost = sizes.find(strides[0].second);
  int64_t whole;
  if (extent != kRuntime && outermost->second != kRuntime &&
      (__builtin_mul_overflow(strides[0].first, outermost->second, &whole) || whole != extent))
    return dimension;
  for (const auto &entry : strides)
    dimension.axes.push_back(entry.second);
  dimension.index = Expr();
  return dimension;
}

Expr Expansion::simplified(const Expr &e, const Expr &guard) const {
  std::optional<Expr> known = assumed;
  if (!guard.isConstant())
    known = known ? logicalAnd(*known, guard) : guard;
  return simplify(e, domain, known);
}

static void conjuncts(const Expr &e, std::vector<Expr> &parts) {
  if (e.kind() != Kind::And)
    return parts.push_back(e);
  for (const Expr &operand : e.operands())
    conjuncts(operand, parts);
}

Expr Expansion::predicate(const Expr &whole) const {
  if (whole.isConstant())
    return whole;
  // First what is assumed word for word.
  std::vector<Expr> parts, known;
  conjuncts(simplify(whole, domain), parts);
  if (assumed)
    conjuncts(simplify(*assumed, domain), known);
  Expr e = 1;
  for (const Expr &part : parts)
    if (std::find(known.begin(), known.end(), part) == known.end())
      e = logicalAnd(e, part);
  if (e.isConstant())
    return e;
  Expr simple = simplify(e, domain, assumed);
  if (simple.isConstant())
    return simple;
  // What the algebra leaves open may still be decided by the values it takes.
  if (auto bounds = bound(simple, domain, assumed))
    if (bounds->range.low >= 1)
      return 1;
  return simple;
}

Summand Expansion::leaf(Value tensor, const std::vector<Expr> &at) const {
  Summand summand(tensor.getLoc());
  Factor factor{tensor, at};
  lookThroughOperand(summand, factor);
  for (Expr &subscript : factor.subscripts)
    subscript = simplified(subscript);
  summand.factors.push_back(std::move(factor));
  return summand;
}

void Expansion::lookThroughOperand(Summand &summand, Factor &factor) const {
  while (Operation *op = factor.operand.getDefiningOp()) {
    if (options.scaledOperands && isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(op)) {
      if (isa<arith::NegFOp>(op)) {
        summand.location = withComposed(summand.location, op);
        summand.scale = -summand.scale;
        factor.operand = op->getOperand(0);
        continue;
      }
      auto right = splatValue(op->getOperand(1)), left = splatValue(op->getOperand(0));
      if (right) {
        summand.location = withComposed(summand.location, op);
        summand.scale = isa<arith::MulFOp>(op) ? summand.scale * *right : summand.scale / *right;
        factor.operand = op->getOperand(0);
        continue;
      }
      if (left && isa<arith::MulFOp>(op)) {
        summand.location = withComposed(summand.location, op);
        summand.scale *= *left;
        factor.operand = op->getOperand(1);
        continue;
      }
      return;
    }
    auto map = mapOf(op);
    if (!map)
      return;
    Substitution here;
    for (auto [k, index] : llvm::enumerate(factor.subscripts))
      here["d" + std::to_string(k)] = index;
    Expr inside = predicate(substitute(map->inside, here));
    if (!inside.isConstant(1) && (map->padding != 0 || !options.guards || !options.guards(inside)))
      return;
    Expr guard = logicalAnd(summand.guard, inside);
    std::vector<Expr> subscripts;
    for (const Expr &subscript : map->subscripts)
      subscripts.push_back(simplified(substitute(subscript, here), guard));
    if ((!options.uneven &&
         !readsEvenly(subscripts, shapeOf(op->getOperand(0)), summand.contracted, domain, options)) ||
        !llvm::all_of(subscripts, hasText))
      return;
    summand.guard = guard;
    summand.location = withComposed(summand.location, op);
    factor = {op->getOperand(0), std::move(subscripts)};
  }
}

std::optional<Summand> Expansion::composeEinsum(EinsumOp op, const std::vector<Expr> &at) {
  ResolvedEinsum resolved = resolve(op);
  if (!resolved.spec.result || resolved.spec.result->size() != at.size())
    return std::nullopt;
  // A guard of what is summed over belongs to the sum: terms have guards of positions. (Of the products with the
  // weights the key is summed over, which is one.)
  if (resolved.guard && !options.uneven)
    for (const std::string &symbol : symbolsOf(*resolved.guard))
      if (llvm::is_contained(resolved.contracted, symbol))
        return std::nullopt;
  Substitution axes;
  for (auto [dimension, index] : llvm::zip(*resolved.spec.result, at)) {
    if (dimension.axes.empty())
      continue; // size 1
    auto parts = splitProduct(index, dimension.axes, resolved.sizes);
    if (!parts)
      return std::nullopt;
    for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
      axes[axis] = simplified(part);
  }
  Summand summand(op.getLoc());
  for (const std::string &axis : resolved.contracted) {
    std::string name = "c" + std::to_string(contractedCount++);
    axes[axis] = Expr::symbol(name);
    summand.contracted[name] = resolved.sizes[axis];
    if (resolved.sizes[axis] != kRuntime)
      domain[name] = {0, resolved.sizes[axis] - 1};
  }
  if (resolved.guard)
    summand.guard = predicate(substitute(*resolved.guard, axes));
  for (auto [operand, subscripts] : llvm::zip(op.getInputs(), resolved.subscripts)) {
    Factor factor{operand, {}};
    for (const Expr &subscript : subscripts)
      factor.subscripts.push_back(simplified(substitute(subscript, axes), summand.guard));
    lookThroughOperand(summand, factor);
    summand.factors.push_back(std::move(factor));
  }
  // One number everywhere, such as the ones that repeat a tensor along a run-time size, is part of the scale.
  if (options.arithmetic)
    llvm::erase_if(summand.factors, [&](const Factor &factor) {
      auto number = splatValue(factor.operand);
      for (const Expr &subscript : factor.subscripts)
        for (const std::string &symbol : symbolsOf(subscript))
          if (!number || summand.contracted.count(symbol))
            return false;
      summand.scale *= number.value_or(1);
      return number.has_value();
    });
  return summand;
}

std::vector<Summand> Expansion::expandProduct(Operation *op, const std::vector<Expr> &at) {
  std::vector<Summand> left = expand(op->getOperand(0), at), right = expand(op->getOperand(1), at), products;
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
  std::vector<Summand> divisors = expand(op->getOperand(1), at);
  if (divisors.size() != 1 || divisors[0].factors.empty() || !divisors[0].contracted.empty() || divisors[0].value ||
      divisors[0].application || divisors[0].scale == 0 || !divisors[0].guard.isConstant(1))
    return std::nullopt;
  std::vector<Summand> quotients = expand(op->getOperand(0), at);
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
    std::vector<Summand> parts = expand(input, at);
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

std::vector<Summand> Expansion::expand(Value tensor, const std::vector<Expr> &at) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return {leaf(tensor, at)};
  if (options.arithmetic) {
    if (auto number = splatValue(tensor)) {
      Summand summand(tensor.getLoc());
      summand.scale = *number;
      return {summand};
    }
    if (isa<arith::AddFOp, arith::SubFOp>(op)) {
      auto sum = expand(op->getOperand(0), at), right = expand(op->getOperand(1), at);
      for (Summand &summand : right) {
        if (isa<arith::SubFOp>(op))
          summand.scale = -summand.scale;
        sum.push_back(std::move(summand));
      }
      return sum;
    }
    if (isa<arith::NegFOp>(op)) {
      auto summands = expand(op->getOperand(0), at);
      for (Summand &summand : summands)
        summand.scale = -summand.scale;
      return summands;
    }
    if (isa<arith::MulFOp>(op))
      return expandProduct(op, at);
    if (auto apply = dyn_cast<ApplyOp>(op); apply && options.functions)
      if (auto summand = expandApplication(apply, at))
        return {*summand};
    if (isa<arith::DivFOp>(op))
      if (auto divisor = splatValue(op->getOperand(1))) {
        auto summands = expand(op->getOperand(0), at);
        for (Summand &summand : summands)
          summand.scale /= *divisor;
        return summands;
      }
    if (isa<arith::DivFOp>(op) && options.scaledContractions)
      if (auto quotients = expandQuotient(op, at))
        return *quotients;
    if (auto position = dyn_cast<PositionOp>(op)) {
      auto dimensions = parseDimensions(std::string_view(position.getAxes()));
      auto expression = parse(std::string_view(position.getExpression()));
      AxisSizes sizes;
      if (dimensions) {
        Einsum spec;
        spec.operands = {*dimensions};
        if (auto all = resolveSizes(spec, {shapeOf(tensor)}, sizesFrom(position.getSizesAttr())))
          sizes = *all;
      }
      Substitution axes;
      bool known = dimensions && expression && dimensions->size() == at.size();
      for (size_t k = 0; known && k < at.size(); ++k) {
        auto parts = splitProduct(at[k], (*dimensions)[k].axes, sizes);
        known = parts.has_value();
        for (size_t n = 0; known && n < parts->size(); ++n)
          axes[(*dimensions)[k].axes[n]] = simplified((*parts)[n]);
      }
      if (known) {
        Summand summand(tensor.getLoc());
        summand.value = simplified(substitute(*expression, axes));
        return {summand};
      }
    }
  }
  if (auto einsum = dyn_cast<EinsumOp>(op); einsum && !isView(einsum)) {
    auto composed = composeEinsum(einsum, at);
    if (!composed)
      return {leaf(tensor, at)};
    // A tensor repeated along an axis of run-time size is an einsum with ones: what it is made of shows through.
    bool repeats = composed->factors.size() == 1 && composed->contracted.empty() && !composed->value;
    if (!repeats || !options.arithmetic || !composed->factors[0].operand.getDefiningOp())
      return {*composed};
    auto summands = expand(composed->factors[0].operand, composed->factors[0].subscripts);
    for (Summand &summand : summands) {
      summand.scale *= composed->scale;
      summand.guard = logicalAnd(composed->guard, summand.guard);
    }
    return summands;
  }
  if (auto map = mapOf(op)) {
    Substitution here;
    for (auto [k, index] : llvm::enumerate(at))
      here["d" + std::to_string(k)] = index;
    Expr inside = predicate(substitute(map->inside, here));
    std::vector<Expr> below;
    for (const Expr &subscript : map->subscripts)
      below.push_back(simplified(substitute(subscript, here), inside));
    if ((inside.isConstant(1) || map->padding == 0) && llvm::all_of(below, hasText)) {
      std::optional<Expr> outer = assumed;
      if (!inside.isConstant())
        assumed = assumed ? logicalAnd(*assumed, inside) : inside;
      auto summands = expand(op->getOperand(0), below);
      assumed = outer;
      auto contraction = op->getOperand(0).getDefiningOp<EinsumOp>();
      for (Summand &summand : summands) {
        summand.guard = logicalAnd(inside, summand.guard);
        // The logits that the map moved are held no more than its own result.
        if (contraction && !isView(contraction))
          summand.location = withComposed(summand.location, contraction);
        if (isa<BlockArgument>(op->getOperand(0)))
          summand.location = op->getLoc(); // the line that reads the argument, not the one that declares it
        summand.location = withComposed(summand.location, op);
      }
      return summands;
    }
  }
  return {leaf(tensor, at)};
}
