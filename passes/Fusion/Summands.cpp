// Expands tensors through index maps and einsums.
#include "passes/Fusion/Summands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/Provenance.h"
#include "passes/Fusion/SharedSums.h"
#include "passes/Fusion/Views.h"
#include <cmath>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Returns whether contracted axes and heads are read at even strides: a tile of them is loaded at once.
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
    // Heads and contracted axes alone may have any even stride and any start: part of a vector.
    if (summed && (!options.products || !(others ? dimensionFor(subscript, sizes, extent).isProduct()
                                                 : asAffine(subscript, domain).has_value())))
      return false;
    if (head && !summed && others && !asAffine(subscript, domain))
      return false;
  }
  return true;
}
/// Returns whether all scales are usable numbers. A tensor that is multiplied by an infinity stays a tensor.
bool areNumbers(const std::vector<Summand> &summands) {
  return llvm::all_of(summands, [](const Summand &summand) {
    return summand.factors.empty() ? std::isfinite(summand.scale) : isScale(summand.scale);
  });
}
} // namespace

bool skewer::isScale(double number) {
  return number == 0 || (std::fabs(number) <= 0x1p100 && std::fabs(number) >= 0x1p-100);
}

Expr Expansion::simplified(const Expr &e, const Expr &guard) const {
  std::optional<Expr> known = assumed;
  if (!guard.isConstant())
    known = known ? logicalAnd(*known, guard) : guard;
  return simplify(e, domain, known);
}

Expr Expansion::predicate(const Expr &whole) const {
  if (whole.isConstant())
    return whole;
  // First drop the conjuncts that `assumed` contains literally.
  std::vector<Expr> known;
  if (assumed)
    known = conjunctsOf(simplify(*assumed, domain));
  Expr e = 1;
  for (const Expr &part : conjunctsOf(simplify(whole, domain)))
    if (std::find(known.begin(), known.end(), part) == known.end())
      e = logicalAnd(e, part);
  if (e.isConstant())
    return e;
  Expr simple = simplify(e, domain, assumed);
  if (simple.isConstant())
    return simple;
  // If the algebra cannot decide it, the range of its values may.
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
    if (factor.operand == options.whole)
      return;
    if (options.scaledOperands && isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(op)) {
      if (isa<arith::NegFOp>(op)) {
        summand.location = withComposed(summand.location, op);
        summand.scale = -summand.scale;
        factor.operand = op->getOperand(0);
        continue;
      }
      auto right = splatValue(op->getOperand(1)), left = splatValue(op->getOperand(0));
      double scale = right ? (isa<arith::MulFOp>(op) ? summand.scale * *right : summand.scale / *right) : 1;
      if (!isScale(scale) || (left && !isScale(summand.scale * *left)))
        return;
      if (right) {
        summand.location = withComposed(summand.location, op);
        summand.scale = scale;
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
    if (!map || (splatValue(op->getOperand(0)) && !std::isfinite(*splatValue(op->getOperand(0)))))
      return;
    IndexMap here = mapAt(*map, factor.subscripts);
    Expr everywhere = here.inside, inside = predicate(everywhere);
    if (!inside.isConstant(1) && (map->padding != 0 || !options.guards || !options.guards(inside)))
      return;
    // Padding that a mask hides stays if rows are read whole, also for masked pairs.
    if (assumed && !map->inside.isConstant(1) && options.guards && !options.guards(everywhere) &&
        !Expansion(domain, std::nullopt).predicate(everywhere).isConstant(1))
      return;
    Expr guard = logicalAnd(summand.guard, inside);
    std::vector<Expr> subscripts;
    for (const Expr &subscript : here.subscripts)
      subscripts.push_back(simplified(subscript, guard));
    if ((!options.uneven &&
         !readsEvenly(subscripts, shapeOf(op->getOperand(0)), summand.contracted, domain, options)) ||
        !llvm::all_of(subscripts, hasText))
      return;
    summand.guard = guard;
    summand.location = withComposed(summand.location, op);
    factor = {op->getOperand(0), std::move(subscripts)};
  }
}

/// Law: a sum over an axis that no factor depends on is the size of the axis times the summand. Returns false if the
/// summand cannot hold that number: the axis has to stay.
bool Expansion::takeOutRepetitions(Summand &summand) const {
  std::set<std::string> read = symbolsOf(summand.guard);
  for (const Factor &factor : summand.factors)
    for (const Expr &subscript : factor.subscripts)
      read.merge(symbolsOf(subscript));
  for (auto axis = summand.contracted.begin(); axis != summand.contracted.end();) {
    auto [name, size] = *axis;
    if (size == 1 || read.count(name)) { // an axis of one element is read at 0
      ++axis;
      continue;
    }
    if (size == kRuntime || !options.arithmetic)
      return false;
    summand.scale *= static_cast<double>(size);
    axis = summand.contracted.erase(axis);
  }
  return true;
}

std::optional<Summand> Expansion::composeEinsum(EinsumOp op, const std::vector<Expr> &at) {
  ResolvedEinsum resolved = resolve(op);
  if (!resolved.spec.result)
    return std::nullopt;
  // A guard on a summed axis belongs to the sum: terms have guards of positions only. (In products with the weights,
  // the summed axis is the key, which is a position.)
  if (resolved.guard && !options.uneven)
    for (const std::string &symbol : symbolsOf(*resolved.guard))
      if (llvm::is_contained(resolved.contracted, symbol))
        return std::nullopt;
  auto found = axesAt(*resolved.spec.result, at, resolved.sizes);
  if (!found)
    return std::nullopt;
  Substitution &axes = *found;
  for (auto &[axis, place] : axes)
    place = simplified(place);
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
  Summand asWritten = summand;
  for (auto [operand, subscripts] : llvm::zip(op.getInputs(), resolved.subscripts)) {
    Factor factor{operand, {}};
    for (const Expr &subscript : subscripts)
      factor.subscripts.push_back(simplified(substitute(subscript, axes), summand.guard));
    asWritten.factors.push_back(factor);
    lookThroughOperand(summand, factor);
    summand.factors.push_back(std::move(factor));
  }
  // Operands that were repeated along an axis do not depend on it once they are looked through.
  if (!takeOutRepetitions(summand)) {
    summand = std::move(asWritten);
    if (!takeOutRepetitions(summand))
      return std::nullopt;
  }
  // A factor that is one number everywhere, such as the ones that repeat a tensor along a run-time size, joins the
  // scale.
  if (options.arithmetic)
    llvm::erase_if(summand.factors, [&](const Factor &factor) {
      auto number = splatValue(factor.operand);
      for (const Expr &subscript : factor.subscripts)
        for (const std::string &symbol : symbolsOf(subscript))
          if (!number || summand.contracted.count(symbol))
            return false;
      if (number && !std::isfinite(summand.scale * *number))
        return false; // an infinity stays an operand, because the scale of a term is a finite number
      summand.scale *= number.value_or(1);
      return number.has_value();
    });
  return summand;
}

/// Expands an einsum. One with ones repeats a tensor along an axis of run-time size: its operand is expanded further.
std::vector<Summand> Expansion::expandEinsum(EinsumOp op, const std::vector<Expr> &at) {
  auto composed = composeEinsum(op, at);
  if (!composed)
    return {leaf(op.getResult(), at)};
  if (options.keepsRows && !composed->contracted.empty()) {
    std::set<std::string> symbols;
    for (const Expr &index : at)
      symbols.merge(symbolsOf(index));
    if (!symbols.count(kQueryAxis) || !symbols.count(kKeyAxis))
      return {leaf(op.getResult(), at)};
  }
  bool repeats = composed->factors.size() == 1 && composed->contracted.empty() && !composed->value;
  if (!repeats || !options.arithmetic || !composed->factors[0].operand.getDefiningOp())
    return {*composed};
  const Factor &repeated = composed->factors[0];
  auto summands = scaled(repeated.operand, composed->scale, false, repeated.subscripts);
  if (!areNumbers(summands))
    return {leaf(op.getResult(), at)};
  for (Summand &summand : summands)
    summand.guard = logicalAnd(composed->guard, summand.guard);
  return summands;
}

/// Expands a view; nothing if the map pads with a number other than 0, or an index has no text.
std::optional<std::vector<Summand>> Expansion::expandView(Operation *op, const attn::IndexMap &map,
                                                          const std::vector<Expr> &at) {
  IndexMap here = mapAt(map, at);
  Expr inside = predicate(here.inside);
  std::vector<Expr> below;
  for (const Expr &subscript : here.subscripts)
    below.push_back(simplified(subscript, inside));
  if ((!inside.isConstant(1) && map.padding != 0) || !llvm::all_of(below, hasText))
    return std::nullopt;
  std::optional<Expr> outer = assumed;
  if (!inside.isConstant())
    assumed = assumed ? logicalAnd(*assumed, inside) : inside;
  auto summands = expandBelow(op->getOperand(0), below);
  assumed = outer;
  if (!areNumbers(summands))
    return std::nullopt;
  auto contraction = op->getOperand(0).getDefiningOp<EinsumOp>();
  for (Summand &summand : summands) {
    summand.guard = logicalAnd(inside, summand.guard);
    // The logits that the map moves are no more in memory than its own result.
    if (contraction && !isView(contraction))
      summand.location = withComposed(summand.location, contraction);
    if (isa<BlockArgument>(op->getOperand(0)))
      summand.location = op->getLoc(); // the line that reads the argument, not the one that declares it
    summand.location = withComposed(summand.location, op);
  }
  return summands;
}

std::vector<Summand> Expansion::expand(Value tensor, const std::vector<Expr> &at) {
  if (options.arithmetic)
    shared = sharedSums(tensor);
  return expandBelow(tensor, at);
}

std::vector<Summand> Expansion::expandBelow(Value tensor, const std::vector<Expr> &at) {
  Operation *op = tensor.getDefiningOp();
  if (!op || tensor == options.whole || shared.contains(tensor))
    return {leaf(tensor, at)};
  if (options.arithmetic)
    if (auto summands = expandArithmetic(op, at))
      return splatValue(tensor) || areNumbers(*summands) ? *summands : std::vector<Summand>{leaf(tensor, at)};
  if (auto einsum = dyn_cast<EinsumOp>(op); einsum && !isView(einsum))
    return expandEinsum(einsum, at);
  if (auto map = mapOf(op))
    if (auto summands = expandView(op, *map, at))
      return *summands;
  return {leaf(tensor, at)};
}
