// Finds positions: the dimensions that differences and inequalities compare with the key.
#include "passes/Fusion/QueryDimensions.h"
#include "dialect/Subscript/Analysis.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/ScoreFunction.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

static std::string nameOf(size_t dimension) { return "w" + std::to_string(dimension); }

/// A sum, taken apart: the coefficients of its dimensions, and all the dimensions in it.
struct QueryDimensions::Sum {
  std::map<size_t, int64_t> coefficients;
  std::set<size_t> dimensions;
  bool key = false, affine = true;
};

/// Returns the last dimension that is not the key dimension; one with several rows, if there is one.
static size_t lastQuery(const std::vector<int64_t> &shape, size_t keyDimension) {
  size_t last = shape.size() - (keyDimension + 1 == shape.size() ? 2 : 1);
  for (size_t k = shape.size(); k-- > 0;)
    if (k != keyDimension && shape[k] != 1)
      return k;
  return last;
}

QueryDimensions::QueryDimensions(const WeightSource &source, const WeightUses &uses, const Dimensions &named,
                                 const std::vector<int64_t> &shape, size_t keyDimension)
    : shape(shape), keyDimension(keyDimension) {
  std::vector<Expr> at;
  for (size_t k = 0; k < shape.size(); ++k) {
    at.push_back(Expr::symbol(nameOf(k)));
    if (shape[k] != kRuntime)
      domain[nameOf(k)] = {0, shape[k] - 1};
  }
  ExpansionOptions options;
  options.products = options.uneven = options.scaledContractions = options.functions = true;
  options.guards = [](const Expr &) { return true; };
  options.query = nameOf(lastQuery(shape, keyDimension)), options.key = nameOf(keyDimension);
  std::vector<std::vector<ScaledElement>> sums{{{{source.scores, at}, 1}}};
  if (auto function = ScoreFunction::find(sums[0][0], options.query, options.key,
                                          domain, std::nullopt, source.direct)) {
    sums = function->sums;
    visit(function->inside);
  }
  std::vector<Summand> terms;
  for (const auto &sum : sums)
    for (const ScaledElement &part : sum)
      llvm::append_range(terms, Expansion(domain, std::nullopt, options).expand(part.tensor, part.at));
  for (const Summand &term : terms) {
    for (const Factor &factor : term.factors)
      addOperand(factor.subscripts);
    visit(term.guard);
    if (term.value)
      visit(*term.value);
    if (term.application)
      for (const Application::Argument &argument : term.application->arguments)
        visit(argument.position);
  }
  for (const WeightedSummand &product : uses.products)
    if (auto einsum = product.tensor.getDefiningOp<EinsumOp>())
      addProduct(einsum, source.weights);
  Einsum spec;
  spec.operands = {named};
  auto sizes = resolveSizes(spec, {shape}, sizesFrom(source.sizes));
  auto mask = source.mask ? parse(*source.mask) : std::nullopt;
  if (mask && sizes)
    visit(simplify(substitute(*mask, axesOf(named, *sizes)), domain));
}

/// Returns the axes of the score's dimensions, as functions of their indices.
Substitution QueryDimensions::axesOf(const Dimensions &dimensions, const AxisSizes &sizes) const {
  Substitution axes;
  for (auto [k, dimension] : llvm::enumerate(dimensions))
    if (auto parts = splitProduct(Expr::symbol(nameOf(k)), dimension.axes, sizes))
      for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
        axes[axis] = part;
  return axes;
}

void QueryDimensions::addOperand(const std::vector<Expr> &subscripts) {
  bool key = false;
  KeyOperand operand{{}, {}, subscripts};
  for (const Expr &subscript : subscripts) {
    visit(subscript);
    std::set<size_t> own = dimensionsIn(subscript);
    operand.all.insert(own.begin(), own.end());
    if (!namesKey(subscript))
      operand.apart.insert(own.begin(), own.end());
    else
      key = true;
  }
  if (key)
    keyOperands.push_back(std::move(operand));
}

/// Adds the values, and tables that are added to them.
void QueryDimensions::addProduct(EinsumOp product, Value weights) {
  ResolvedEinsum einsum = resolve(product);
  auto place = llvm::find(product.getInputs(), weights);
  if (place == product.getInputs().end())
    return;
  size_t number = place - product.getInputs().begin();
  Substitution axes = axesOf(einsum.spec.operands[number], einsum.sizes);
  for (size_t k = 0; k < einsum.subscripts.size(); ++k)
    if (k != number) {
      std::vector<Expr> subscripts;
      for (const Expr &subscript : einsum.subscripts[k])
        subscripts.push_back(simplify(substitute(subscript, axes), domain));
      addOperand(subscripts);
    }
}

bool QueryDimensions::hasTables(size_t dimension, size_t last) const {
  return llvm::any_of(keyOperands, [&](const KeyOperand &operand) {
    return operand.all.count(dimension) && !operand.apart.count(last);
  });
}

bool QueryDimensions::isSharedBy(size_t dimension, int64_t count) const {
  if (shape[dimension] == kRuntime || shape[dimension] % count)
    return false;
  std::string group = "_group", member = "_member";
  Domain within = domain;
  within[group] = {0, shape[dimension] / count - 1}, within[member] = {0, count - 1};
  Substitution divided{{nameOf(dimension), Expr(count) * Expr::symbol(group) + Expr::symbol(member)}};
  return llvm::all_of(keyOperands, [&](const KeyOperand &operand) {
    return llvm::all_of(operand.subscripts, [&](const Expr &subscript) {
      return !symbolsOf(simplify(substitute(subscript, divided), within)).count(member);
    });
  });
}

std::set<size_t> QueryDimensions::dimensionsIn(const Expr &e) const {
  std::set<std::string> symbols = symbolsOutsideReads(e);
  std::set<size_t> found;
  for (size_t k = 0; k < shape.size(); ++k)
    if (k != keyDimension && symbols.count(nameOf(k)))
      found.insert(k);
  return found;
}

bool QueryDimensions::namesKey(const Expr &e) const { return symbolsOutsideReads(e).count(nameOf(keyDimension)) > 0; }

void QueryDimensions::visit(const Expr &e) {
  const auto &o = e.operands();
  switch (e.kind()) {
  case Kind::Add:
    return compare({{e, 1}});
  case Kind::Less:
  case Kind::LessEqual:
  case Kind::Equal:
  case Kind::NotEqual:
    return compare({{o[0], 1}, {o[1], -1}});
  default:
    for (const Expr &operand : o)
      visit(operand);
  }
}

void QueryDimensions::compare(const std::vector<std::pair<Expr, int64_t>> &parts) {
  Sum sum;
  for (const auto &[part, factor] : parts)
    add(sum, part, factor);
  close(sum);
}

void QueryDimensions::add(Sum &sum, const Expr &e, int64_t factor) {
  const auto &o = e.operands();
  if (e.kind() == Kind::Add) {
    add(sum, o[0], factor);
    add(sum, o[1], factor);
    return;
  }
  int64_t product;
  for (size_t k : {0, 1})
    if (e.kind() == Kind::Mul && o[k].isConstant() && !__builtin_mul_overflow(factor, o[k].value(), &product))
      return add(sum, o[1 - k], product);
  std::set<size_t> own = dimensionsIn(e);
  sum.key |= namesKey(e);
  sum.dimensions.insert(own.begin(), own.end());
  if (e.isSymbol() && own.size() == 1)
    sum.coefficients[*own.begin()] += factor;
  else if (!own.empty())
    sum.affine = false;
  if (!e.isSymbol())
    visit(e);
}

/// Adds the positions of the sum. A single dimension compared with the key is a position. Of several, those are
/// positions that are strides of one row-major position: the last one, and others that count its rows.
void QueryDimensions::close(const Sum &sum) {
  if (!sum.key)
    return;
  if (!sum.affine) {
    positions.insert(sum.dimensions.begin(), sum.dimensions.end());
    return;
  }
  int64_t expected = 0;
  for (auto entry = sum.coefficients.rbegin(); entry != sum.coefficients.rend(); ++entry) {
    auto [dimension, coefficient] = *entry;
    if (coefficient == 0 || (expected != 0 && coefficient != expected))
      continue;
    positions.insert(dimension);
    if (shape[dimension] == kRuntime || __builtin_mul_overflow(coefficient, shape[dimension], &expected))
      return;
  }
}
