// Finds the vector that each factor of a contraction belongs to, and multiplies them.
#include "passes/Fusion/ScaleVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/BuildEinsum.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

static bool isSame(const Factor &a, const Factor &b) {
  return a.operand == b.operand && a.inverse == b.inverse && a.subscripts == b.subscripts;
}

static std::set<std::string> symbolsOfFactor(const Factor &factor) {
  std::set<std::string> symbols;
  for (const Expr &subscript : factor.subscripts)
    symbols.merge(symbolsOf(subscript));
  return symbols;
}

Value VectorScaling::product(const std::vector<Factor> &factors, const std::vector<std::string> &axes,
                             const Summand &term) {
  for (const Made &known : made)
    if (known.factors.size() == factors.size() &&
        std::equal(factors.begin(), factors.end(), known.factors.begin(), isSame))
      return known.tensor;
  // Here the contraction's axes are axes of the result. A quotient stays a quotient: the inverse of a number above
  // 2^126 would be 0.
  Summand summand(term.location), divisor(term.location);
  std::vector<int64_t> shape;
  for (const std::string &axis : axes) {
    auto contracted = term.contracted.find(axis);
    int64_t size = contracted == term.contracted.end() ? sizes.at(axis) : contracted->second;
    shape.push_back(size);
  }
  for (Factor factor : factors) {
    // The product widens elements that are stored in fewer bits.
    Type element = getElementTypeOrSelf(factor.operand);
    if (!element.isF32() && !(element.isF16() || element.isBF16()))
      return {};
    (std::exchange(factor.inverse, false) ? divisor : summand).factors.push_back(std::move(factor));
  }
  auto type = tensorType(shape, builder.getF32Type());
  Value result = buildEinsum(builder, summand, axes, type);
  if (result && !divisor.factors.empty()) {
    // Ones tell the sizes that the divisor lacks.
    Factor ones{numberLike(builder, term.location, result, 1), {}};
    for (const std::string &axis : axes)
      ones.subscripts.push_back(Expr::symbol(axis));
    divisor.factors.push_back(std::move(ones));
    Value below = buildEinsum(builder, divisor, axes, type);
    result = below ? arith::DivFOp::create(builder, term.location, result, below).getResult() : Value();
  }
  if (result)
    made.push_back({factors, result});
  return result;
}

/// Takes a factor that depends on neither query nor key nor contracted axes (the scale of a head) off the vector that
/// it multiplies. The keys are then read as they lie in memory.
bool VectorScaling::takeScaleOff(Factor &vector, const Domain &domain, std::vector<Factor> &scales) const {
  auto product = vector.operand.getDefiningOp<arith::MulFOp>();
  for (unsigned side : {0u, 1u}) {
    if (!product || vector.inverse)
      break;
    ExpansionOptions options;
    options.arithmetic = options.scaledOperands = false;
    std::vector<Summand> summands =
        Expansion(domain, std::nullopt, options).expand(product->getOperand(side), vector.subscripts);
    if (summands.size() != 1 || summands[0].value || summands[0].application || !summands[0].guard.isConstant(1) ||
        !summands[0].contracted.empty() || summands[0].factors.size() != 1 || summands[0].scale != 1)
      continue;
    const Factor &scale = summands[0].factors[0];
    if (scale.inverse || !llvm::all_of(symbolsOfFactor(scale), [&](auto &s) { return llvm::is_contained(leading, s); }))
      continue;
    scales.push_back(scale);
    vector.operand = product->getOperand(1 - side);
    return true;
  }
  return false;
}

bool VectorScaling::move(Summand &term) { return moveScales(term, true) || moveScales(term, false); }

/// Returns the vector that a scale may be multiplied into, the query's if both fit; -1 if neither does.
static int sideOf(const Factor &scale, const std::vector<Factor> &vectors) {
  auto hasAny = [](const std::set<std::string> &symbols, const std::string &side) { return symbols.count(side) > 0; };
  std::set<std::string> symbols = symbolsOfFactor(scale);
  int side = -1;
  for (int v : {1, 0}) {
    std::set<std::string> own = symbolsOfFactor(vectors[v]);
    bool query = hasAny(own, kQueryAxis), key = hasAny(own, kKeyAxis);
    bool fits = query != key && (query || !hasAny(symbols, kQueryAxis)) && (key || !hasAny(symbols, kKeyAxis));
    if (fits && (side < 0 || query))
      side = v;
  }
  return side;
}

/// Returns the product of a vector and its scales as one operand; nothing if an operand would be read out of bounds.
std::optional<Factor> VectorScaling::scaledVector(const std::vector<Factor> &factors, const Domain &domain,
                                                  const Summand &term) {
  std::set<std::string> used;
  for (const Factor &factor : factors) {
    used.merge(symbolsOfFactor(factor));
    // Each position has a product, even if a guard or a mask hides it.
    for (auto [subscript, extent] : llvm::zip(factor.subscripts, shapeOf(factor.operand)))
      if (extent != kRuntime && proveWithin(subscript, {0, extent - 1}, domain).outcome != Proof::Proven)
        return std::nullopt;
  }
  std::vector<std::string> axes;
  auto take = [&](const std::string &axis) {
    if (used.count(axis))
      axes.push_back(axis);
  };
  llvm::for_each(leading, take);
  take(kQueryAxis);
  take(kKeyAxis);
  for (const auto &entry : term.contracted)
    take(entry.first);
  Value tensor = product(factors, axes, term);
  if (!tensor)
    return std::nullopt;
  Factor factor{tensor, {}};
  for (const std::string &axis : axes)
    factor.subscripts.push_back(Expr::symbol(axis));
  return factor;
}

bool VectorScaling::moveScales(Summand &term, bool offKeys) {
  std::vector<Factor> vectors, scales;
  for (const Factor &factor : term.factors) {
    bool contracts = llvm::any_of(symbolsOfFactor(factor), [&](auto &s) { return term.contracted.count(s) > 0; });
    (contracts ? vectors : scales).push_back(factor);
  }
  if (term.contracted.empty())
    return true;
  Domain axes = domainOf(sizes);
  for (const auto &[axis, size] : term.contracted)
    if (size != kRuntime)
      axes[axis] = {0, size - 1};
  if (vectors.size() == 2 && offKeys)
    for (Factor &vector : vectors)
      if (std::set<std::string> symbols = symbolsOfFactor(vector);
          symbols.count(kKeyAxis) && !symbols.count(kQueryAxis))
        while (takeScaleOff(vector, axes, scales)) {
        }
  if (scales.empty())
    return true;
  if (vectors.size() != 2 || term.value || term.application || vectors[0].inverse || vectors[1].inverse)
    return false;
  Domain domain = domainOf(sizes);
  for (const auto &[axis, size] : term.contracted) {
    if (size == kRuntime)
      return false;
    domain[axis] = {0, size - 1};
  }
  std::vector<Factor> products[2] = {{vectors[0]}, {vectors[1]}};
  for (const Factor &scale : scales) {
    int side = sideOf(scale, vectors);
    if (side < 0)
      return false;
    products[side].push_back(scale);
  }
  std::vector<Factor> result;
  for (const std::vector<Factor> &factors : products) {
    std::optional<Factor> scaled = factors.size() == 1 ? factors.front() : scaledVector(factors, domain, term);
    if (!scaled)
      return false;
    result.push_back(std::move(*scaled));
  }
  term.factors = std::move(result);
  return true;
}
