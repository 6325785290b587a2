// attn-form-attention: softmax of a sum of terms, times values, becomes attn.attention.
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Factorise.h"
#include "passes/Fusion/ScaleVectors.h"
#include "passes/Fusion/ValueSide.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNFORMATTENTION
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The names that the fused form gives to axes; leading axes keep theirs unless they would clash.
bool isReserved(const std::string &name) {
  static const std::set<std::string> fixed = {"i", "j", "d", "e"};
  if (fixed.count(name))
    return true;
  // iy, j0, c1, d2, e1: made from the fixed names, or a contracted axis of an expansion.
  return name.size() >= 2 && std::string("ijdec").find(name[0]) != std::string::npos &&
         (llvm::all_of(name.substr(1), [](char c) { return c >= '0' && c <= '9'; }) ||
          (name.size() == 2 && name[1] >= 'x' && name[1] <= 'z'));
}

/// One softmax with the einsum that applies it to the values, and what else is made of its weights, on its way to one
/// attention.
class Candidate {
public:
  Candidate(SoftmaxOp softmax, EinsumOp product, const WeightUses &uses)
      : softmax(softmax), product(product), uses(uses) {
    for (Operation *user : softmax.getInput().getUsers())
      if (auto other = dyn_cast<LogSumExpOp>(user); other && *rowReductionOf(other) == *rowReductionOf(softmax))
        logSumExps.push_back(other);
  }

  /// Nothing is changed unless all of it succeeds; otherwise `why` says what kept it from fusing.
  bool form(std::string &why) {
    if (!findRoles(why) || !expandScore(why) || !expandValues(why))
      return false;
    if (dependsOnLse())
      logSumExps.clear();
    return dropQueryOnly() && factorise() && build(why);
  }

private:
  bool findRoles(std::string &why);
  bool expandScore(std::string &why);
  bool expandValues(std::string &why);
  TermOp buildTerm(OpBuilder &, const Summand &) const;
  bool sizesAxis(const Factor &, const std::string &axis, const AxisSizes &contracted) const;
  bool dropQueryOnly();
  bool isAddedAfterwards(const Summand &);
  Value withQueryOnly(OpBuilder &, Value lse) const;
  bool dependsOnLse() const;
  std::optional<Einsum> arrangementOf(const Dimensions &has, ArrayRef<Expr> wanted, ArrayRef<int64_t> shape,
                                      bool &same) const;
  bool factorise();
  bool build(std::string &why);
  Einsum nameContracted(const Summand &, AxisSizes &, Substitution &) const;
  std::vector<Expr *> expressions();

  SoftmaxOp softmax;
  EinsumOp product;
  const WeightUses &uses;
  SmallVector<LogSumExpOp> logSumExps;           // of the same scores
  SmallVector<std::pair<Value, double>> queryOnly; // what the weights do not depend on and the lse does: × a number
  double valueScale = 1; // of the product, and as a tensor
  Value valueFactor;
  size_t weightOperand = 0, keyDimension = 0;
  std::vector<std::string> leading, query, key, valueAxes;
  std::vector<int64_t> queryDimensions; // sizes of the score's dimensions that are queries
  AxisSizes sizes;                      // of leading, query, key and value axes
  std::vector<Expr> at;                 // the score's indices, over those axes
  std::optional<Expr> mask;
  Summand value{softmax.getLoc()}; // one factor: the values
  std::vector<Expr> resultIndices; // of the product's result
  std::vector<Summand> terms, valueTerms;
};

bool Candidate::findRoles(std::string &why) {
  ResolvedEinsum resolved = resolve(product);
  if (product.getInputs().size() != 2 || !resolved.spec.result || resolved.guard) {
    why = "the product with the weights is not of two operands without a guard";
    return false;
  }
  weightOperand = product.getInputs()[0] == softmax.getResult() ? 0 : 1;
  if (product.getInputs()[1 - weightOperand] == softmax.getResult()) {
    why = "the weights are multiplied by themselves";
    return false;
  }
  const Dimensions &weights = resolved.spec.operands[weightOperand];
  auto over = parseDimensions(std::string_view(softmax.getOver()));
  auto named = parseDimensions(std::string_view(softmax.getAxes()));
  if (!over || over->empty() || !named || named->size() != weights.size()) {
    why = "the softmax is not over one dimension";
    return false;
  }
  std::vector<std::string> keyAxes;
  for (const Dimension &dimension : *over)
    keyAxes.insert(keyAxes.end(), dimension.axes.begin(), dimension.axes.end());
  int keyDimension = -1;
  for (size_t k = 0; k < named->size(); ++k)
    if ((*named)[k].axes == keyAxes)
      keyDimension = int(k);
  if (keyDimension < 0) {
    why = "the softmax is not over one whole dimension";
    return false;
  }

  std::set<std::string> valueSymbols, kept;
  for (const Expr &subscript : resolved.subscripts[1 - weightOperand])
    for (const std::string &symbol : symbolsOf(subscript))
      valueSymbols.insert(symbol);
  for (const Dimension &dimension : *resolved.spec.result)
    kept.insert(dimension.axes.begin(), dimension.axes.end());

  this->keyDimension = keyDimension;

  // The role of each dimension of the weights; all axes of a dimension must have the same one.
  std::vector<int64_t> shape = shapeOf(softmax.getInput());
  std::vector<size_t> queries;
  std::vector<std::string> leadingOf(weights.size());
  auto fresh = [&](std::string name, size_t place) {
    auto taken = [&](const std::string &n) { return isReserved(n) || llvm::is_contained(leading, n); };
    for (const char *other : {"h", "b", "g", "n", "m", "t"}) {
      if (!name.empty() && !taken(name))
        return name;
      name = other;
    }
    return "leading" + std::to_string(place);
  };
  for (size_t k = 0; k < weights.size(); ++k) {
    if (!weights[k].isProduct()) {
      why = "the weights are read through an index expression";
      return false;
    }
    bool summed = true, inValue = true, shared = false, keptAll = true;
    for (const std::string &axis : weights[k].axes) {
      summed &= !kept.count(axis);
      keptAll &= kept.count(axis) > 0;
      inValue &= valueSymbols.count(axis) > 0;
      shared |= valueSymbols.count(axis) > 0;
    }
    if (int(k) == keyDimension) {
      if (!summed || !inValue) {
        why = "the product does not sum over the dimension that the softmax is over";
        return false;
      }
    } else if (keptAll && !shared) {
      queries.push_back(k);
    } else if (keptAll) { // a group of heads may share values: "(g r)" with values by g
      leadingOf[k] = fresh(weights[k].isAxis() ? weights[k].axes[0] : "", k);
      leading.push_back(leadingOf[k]);
    } else {
      why = "a dimension of the weights is neither a query, nor a key, nor common to weights and values";
      return false;
    }
  }
  // Values that all heads share make every other dimension look like a query's: the last one is.
  for (size_t q = 0; q + 1 < queries.size(); ++q) {
    const Dimension &dimension = weights[queries[q]];
    if (shape[queries[q]] == kRuntime || (*named)[queries[q]].axes == std::vector<std::string>{"h"} ||
        (dimension.isAxis() && (dimension.axes[0] == "b" || dimension.axes[0] == "h"))) {
      leadingOf[queries[q]] = fresh(dimension.isAxis() ? dimension.axes[0] : "", queries[q]);
      leading.push_back(leadingOf[queries[q]]);
      queries.erase(queries.begin() + q--);
    }
  }
  if (queries.empty()) {
    why = "the weights have no query dimension";
    return false;
  }

  // The score's indices over leading axes, one query and one key position.
  leading.clear();
  at.assign(weights.size(), Expr());
  int64_t queryCount = 1;
  for (size_t k : queries) {
    if (shape[k] == kRuntime || shape[keyDimension] == kRuntime) {
      why = "the number of queries or keys is known at run time only";
      return false;
    }
    queryCount *= shape[k];
    queryDimensions.push_back(shape[k]);
  }
  for (size_t k = 0; k < weights.size(); ++k)
    if (!leadingOf[k].empty()) {
      leading.push_back(leadingOf[k]);
      sizes[leadingOf[k]] = shape[k];
      at[k] = Expr::symbol(leadingOf[k]);
    }
  query = {"i"}, key = {"j"};
  sizes["i"] = queryCount, sizes["j"] = shape[keyDimension];
  at[keyDimension] = Expr::symbol("j");
  AxisSizes querySizes;
  std::vector<std::string> queryNames;
  for (size_t k : queries) {
    queryNames.push_back("q" + std::to_string(k));
    querySizes[queryNames.back()] = shape[k];
  }
  auto queryParts = splitProduct(Expr::symbol("i"), queryNames, querySizes);
  for (size_t n = 0; n < queries.size(); ++n)
    at[queries[n]] = simplify((*queryParts)[n], domainOf(sizes));

  // The values' and the result's indices over the same axes.
  Substitution axes;
  for (size_t k = 0; k < weights.size(); ++k) {
    auto parts = splitProduct(at[k], weights[k].axes, resolved.sizes);
    if (!parts) {
      why = "an axis of the weights has no size at compile time";
      return false;
    }
    for (size_t n = 0; n < parts->size(); ++n)
      axes[weights[k].axes[n]] = (*parts)[n];
  }
  value.location = product.getLoc();
  for (const std::string &axis : resolved.spec.axes())
    if (!axes.count(axis)) {
      if (!kept.count(axis)) {
        why = "the product sums over an axis that the weights lack";
        return false;
      }
      std::string name = valueAxes.empty() ? "e" : "e" + std::to_string(valueAxes.size());
      axes[axis] = Expr::symbol(name);
      valueAxes.push_back(name);
      sizes[name] = value.contracted[name] = resolved.sizes[axis];
    }
  Factor values{product.getInputs()[1 - weightOperand], {}};
  for (const Expr &subscript : resolved.subscripts[1 - weightOperand])
    values.subscripts.push_back(simplify(substitute(subscript, axes), domainOf(sizes)));
  value.factors = {values};
  for (const Dimension &dimension : *resolved.spec.result)
    resultIndices.push_back(simplify(substitute(flatIndex(dimension, resolved.sizes), axes), domainOf(sizes)));

  if (softmax.getMask()) {
    auto predicate = parse(std::string_view(*softmax.getMask()));
    Einsum spec;
    spec.operands = {*named};
    auto namedSizes = resolveSizes(spec, {shape}, sizesFrom(softmax.getSizesAttr()));
    if (!predicate || !namedSizes) {
      why = "the mask is not a predicate of the score's axes";
      return false;
    }
    Substitution named2;
    for (size_t k = 0; k < named->size(); ++k) {
      auto parts = splitProduct(at[k], (*named)[k].axes, *namedSizes);
      for (size_t n = 0; parts && n < parts->size(); ++n)
        named2[(*named)[k].axes[n]] = (*parts)[n];
    }
    mask = simplify(substitute(*predicate, named2), domainOf(sizes));
    if (mask->isConstant() && mask->value() != 0)
      mask.reset();
  }
  return true;
}

/// Whether a dimension of the operand tells the size of a contracted axis: the axis alone, or a product with it.
bool Candidate::sizesAxis(const Factor &factor, const std::string &axis, const AxisSizes &contracted) const {
  AxisSizes all = sizes;
  all.insert(contracted.begin(), contracted.end());
  std::vector<int64_t> extents = shapeOf(factor.operand);
  for (auto [subscript, extent] : llvm::zip(factor.subscripts, extents)) {
    std::vector<std::string> axes = dimensionFor(subscript, all, extent).axes;
    auto unsized = [&](const std::string &other) {
      return other != axis && (contracted.count(other) || all[other] == kRuntime);
    };
    if (llvm::is_contained(axes, axis) && llvm::none_of(axes, unsized))
      return true;
  }
  return false;
}

bool Candidate::expandScore(std::string &why) {
  ExpansionOptions options;
  options.products = options.functions = true;
  // A table with zeros around it is one that is read under a guard. Padding of keys or queries is no such thing.
  options.guards = [](const Expr &inside) {
    std::set<std::string> symbols = symbolsOf(inside);
    return symbols == std::set<std::string>{"i", "j"};
  };
  options.plain.insert(leading.begin(), leading.end());
  std::optional<Expansion> expansion;
  for (bool scaled : {true, false}) {
    options.scaledContractions = scaled;
    expansion.emplace(domainOf(sizes), mask, options);
    terms = expansion->expand(softmax.getInput(), at);
    OpBuilder builder(softmax);
    VectorScaling scaling(builder, sizes, leading);
    if (!scaled || llvm::all_of(terms, [&](Summand &term) { return scaling.move(term); }))
      break;
  }
  options.scaledContractions = options.scaledOperands = false;
  Expansion(domainOf(sizes), mask, options).lookThroughOperand(value, value.factors[0]);
  for (Summand &term : terms) {
    term.guard = expansion->predicate(term.guard);
    for (const auto &entry : term.contracted) {
      const std::string &axis = entry.first;
      bool plainly = false;
      for (const Factor &factor : term.factors)
        plainly |= sizesAxis(factor, axis, term.contracted);
      // A head dimension of 1 is read at the constant 0 and says nothing.
      plainly |= entry.second == 1 && llvm::none_of(term.factors, [&](const Factor &factor) {
                   return llvm::any_of(factor.subscripts, [&](const Expr &e) { return symbolsOf(e).count(axis); });
                 });
      if (!plainly || entry.second == kRuntime) {
        why = "a contracted axis has no size at compile time, or no operand has it alone";
        return false;
      }
    }
  }
  llvm::erase_if(terms, [](const Summand &term) { return term.guard.isConstant(0) || term.scale == 0; });
  return true;
}

/// What the other products of the weights add to the value of a query and a key.
bool Candidate::expandValues(std::string &why) {
  WeightIndices indices{at, keyDimension, sizes, mask};
  for (const WeightedSummand &one : uses.products)
    if (one.tensor == product.getResult())
      valueScale = one.scale, valueFactor = one.factor;
  if (valueScale == 0 || (valueScale != 1 && !valueFactor)) {
    why = "the product with the values is scaled in several steps";
    return false;
  }
  ExpansionOptions options;
  options.products = options.uneven = true;
  options.plain.insert(leading.begin(), leading.end());
  options.guards = [](const Expr &) { return true; };
  Expansion expansion(domainOf(sizes), std::nullopt, options), masked(domainOf(sizes), mask);
  for (const WeightedSummand &one : uses.products) {
    if (one.tensor == product.getResult())
      continue;
    for (const Summand &summand : expansion.expand(one.tensor, resultIndices)) {
      auto term = asValueTerm(summand, softmax.getResult(), indices, why);
      if (!term)
        return false;
      term->scale *= one.scale / valueScale;
      term->guard = masked.predicate(term->guard); // masked keys weigh nothing
      if (!term->guard.isConstant(0) && term->scale != 0)
        valueTerms.push_back(std::move(*term));
    }
  }
  return true;
}

bool Candidate::dropQueryOnly() {
  // With a single key nothing depends on the key, and yet a NaN or an infinity of its score is one of the result.
  if (sizes["j"] == 1 && !terms.empty())
    return true;
  std::vector<Summand> left;
  for (Summand &term : terms) {
    std::set<std::string> symbols = symbolsOf(term.guard);
    if (term.value)
      symbols.merge(symbolsOf(*term.value));
    for (const Factor &factor : term.factors)
      for (const Expr &subscript : factor.subscripts)
        symbols.merge(symbolsOf(subscript));
    if (term.application)
      for (const Application::Argument &argument : term.application->arguments)
        symbols.merge(symbolsOf(argument.position));
    if (symbols.count("j") || (!logSumExps.empty() && !isAddedAfterwards(term)))
      left.push_back(std::move(term));
    else if (logSumExps.empty())
      emitRemark(term.location) << "depends on the query only: softmax is invariant to it, so it is dropped";
  }
  terms = std::move(left);
  if (terms.empty()) { // all keys weigh the same
    Summand nothing(softmax.getLoc());
    nothing.value = Expr(0);
    terms.push_back(nothing);
  }
  return true;
}

std::vector<Expr *> Candidate::expressions() {
  std::vector<Expr *> all;
  auto add = [&](Summand &summand) {
    for (Factor &factor : summand.factors)
      for (Expr &subscript : factor.subscripts)
        all.push_back(&subscript);
    if (summand.value)
      all.push_back(&*summand.value);
    if (summand.application)
      for (Application::Argument &argument : summand.application->arguments)
        all.push_back(&argument.position);
    all.push_back(&summand.guard);
  };
  for (Summand &term : terms)
    add(term);
  for (Summand &term : valueTerms)
    add(term);
  add(value);
  if (mask)
    all.push_back(&*mask);
  return all;
}

bool Candidate::factorise() {
  std::vector<Expr *> all = expressions();
  std::vector<Expr> plain;
  for (Expr *e : all)
    plain.push_back(*e);
  Substitution positions;
  for (std::vector<std::string> *side : {&query, &key}) {
    std::string symbol = (*side)[0];
    std::vector<int64_t> factors = factorsOf(symbol, sizes[symbol], plain);
    if (factors.size() == 1)
      continue;
    *side = axisNames(symbol, factors.size());
    sizes.erase(symbol);
    for (size_t k = 0; k < factors.size(); ++k)
      sizes[(*side)[k]] = factors[k];
    Dimension dimension;
    dimension.axes = *side;
    positions[symbol] = flatIndex(dimension, sizes);
  }
  if (positions.empty())
    return true;
  Domain domain = domainOf(sizes);
  for (Summand &term : terms)
    for (const auto &[axis, size] : term.contracted)
      domain[axis] = {0, size - 1};
  if (mask)
    mask = simplify(substitute(*mask, positions), domain);
  // Of the values, whole axes are read: what the mask implies of one of them (j mod 2 == 0) must not take it away.
  std::set<const Expr *> ofValues;
  for (const Factor &factor : value.factors)
    for (const Expr &subscript : factor.subscripts)
      ofValues.insert(&subscript);
  for (Expr *e : all)
    if (!mask || e != &*mask)
      *e = simplify(substitute(*e, positions), domain, ofValues.count(e) ? std::nullopt : mask);
  for (std::vector<Expr> *indices : {&resultIndices, &at})
    for (Expr &e : *indices)
      e = simplify(substitute(e, positions), domain);
  return true;
}

/// The term's operands with contracted axes named d, d1, … in order of appearance.
Einsum Candidate::nameContracted(const Summand &term, AxisSizes &all, Substitution &names) const {
  all = sizes;
  auto visit = [&](const Expr &e) {
    if (e.isSymbol() && term.contracted.count(e.name()) && !names.count(e.name()) && !sizes.count(e.name())) {
      std::string name = names.empty() ? "d" : "d" + std::to_string(names.size());
      names[e.name()] = Expr::symbol(name);
      all[name] = term.contracted.at(e.name());
    }
  };
  Einsum spec;
  for (const Factor &factor : term.factors)
    for (const Expr &subscript : factor.subscripts)
      visit(subscript);
  // Those that no operand has alone: "b n (h d)" in queries and keys.
  for (const Factor &factor : term.factors)
    for (const Expr &subscript : factor.subscripts)
      for (const std::string &symbol : symbolsOf(subscript))
        visit(Expr::symbol(symbol));
  for (const Factor &factor : term.factors) {
    Dimensions dimensions;
    std::vector<int64_t> extents = shapeOf(factor.operand);
    for (auto [subscript, extent] : llvm::zip(factor.subscripts, extents))
      dimensions.push_back(dimensionFor(substitute(subscript, names), all, extent));
    spec.operands.push_back(std::move(dimensions));
  }
  return spec;
}

TermOp Candidate::buildTerm(OpBuilder &builder, const Summand &term) const {
  AxisSizes axes;
  Substitution names;
  Einsum spec = nameContracted(term, axes, names);
  SmallVector<Value> operands;
  for (const Factor &factor : term.factors)
    operands.push_back(factor.operand);
  std::optional<Expr> factor = term.value;
  if (factor && factor->isConstant(1) && !operands.empty())
    factor.reset();
  if (!factor && operands.empty() && !term.application)
    factor = Expr(1);
  Expr guard = canonicalGuard(term.guard, query, key, domainOf(sizes));
  auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
  auto op =
      TermOp::create(builder, term.location, text(print(spec)), guard.isConstant(1) ? StringAttr() : text(print(guard)),
                     factor ? text(print(*factor)) : StringAttr(), builder.getF64FloatAttr(term.scale), operands);
  if (term.application) {
    SmallVector<Attribute> arguments;
    for (const Application::Argument &argument : term.application->arguments)
      arguments.push_back(text(printArgument(argument)));
    op.setFunctionAttr(text(term.application->function->name().str()));
    op.setArgumentsAttr(builder.getArrayAttr(arguments));
  }
  bindIndices(op);
  return op;
}

bool Candidate::build(std::string &why) {
  OpBuilder builder(uses.root.getDefiningOp());
  auto axis = [](const std::vector<std::string> &names) {
    Dimension dimension;
    dimension.axes = names;
    return dimension;
  };
  Dimensions space;
  std::vector<int64_t> shape;
  for (const std::string &name : leading)
    space.push_back(axis({name}));
  space.push_back(axis(query));
  Dimensions rows = space, result = space;
  space.push_back(axis(key));
  for (const std::string &name : valueAxes)
    result.push_back(axis({name}));
  for (const Dimension &dimension : result) {
    int64_t size = 1;
    for (const std::string &name : dimension.axes)
      size = sizes[name] == kRuntime ? ShapedType::kDynamic : size * sizes[name];
    shape.push_back(size);
  }

  AxisSizes all;
  Substitution none;
  Einsum valueSpec = nameContracted(value, all, none);
  // Single keys and values one wide are read at the constant 0.
  std::vector<std::string> single;
  for (const std::vector<std::string> &names : {key, valueAxes})
    llvm::copy_if(names, std::back_inserter(single), [&](const std::string &name) { return sizes[name] == 1; });
  restoreSingles(valueSpec.operands[0], shapeOf(value.factors[0].operand), single);
  valueSpec.result = result;
  // The result as the program has it: the same, or another order or grouping of axes.
  bool same = true, sameRows = true;
  auto reorder = arrangementOf(result, resultIndices, shapeOf(product.getResult()), same);
  std::vector<Expr> rowIndices = at;
  rowIndices.erase(rowIndices.begin() + keyDimension);
  std::optional<Einsum> reorderRows = Einsum();
  Type lseType;
  if (!logSumExps.empty()) {
    reorderRows = arrangementOf(rows, rowIndices, shapeOf(logSumExps.front().getResult()), sameRows);
    lseType = RankedTensorType::get(ArrayRef<int64_t>(shape).take_front(rows.size()), builder.getF32Type());
  }
  if (!reorder || !reorderRows) {
    why = "the result is arranged in a way that is no product of its axes";
    return false;
  }

  AxisSizes given, querySizes;
  for (const std::vector<std::string> *side : {&query, &key})
    for (const std::string &name : *side)
      if (side->size() > 1)
        given[name] = sizes[name];
  for (const std::string &name : query)
    if (query.size() > 1)
      querySizes[name] = sizes[name];
  auto type = RankedTensorType::get(shape, cast<RankedTensorType>(product.getType()).getElementType());
  auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
  auto attention = AttentionOp::create(builder, product.getLoc(), type, text(print(space)),
                                       given.empty() ? DictionaryAttr() : sizesTo(builder.getContext(), given),
                                       mask ? text(print(*mask)) : StringAttr(), text(print(valueSpec)),
                                       value.factors[0].operand, Attribute(), lseType);
  bindIndices(attention);
  Block *body = builder.createBlock(&attention.getScore());
  builder.setInsertionPointToStart(body);
  for (const Summand &term : terms)
    buildTerm(builder, term);
  if (!valueTerms.empty())
    builder.createBlock(&attention.getValues());
  for (const Summand &term : valueTerms)
    buildTerm(builder, term);
  builder.setInsertionPoint(uses.root.getDefiningOp());
  auto rearranged = [&](Value tensor, Type type, const Einsum &spec) -> Value {
    auto sizesAttr = querySizes.empty() ? DictionaryAttr() : sizesTo(builder.getContext(), querySizes);
    return RearrangeOp::create(builder, tensor.getLoc(), type, text(print(spec)), sizesAttr, tensor);
  };
  Value output = attention.getResult();
  if (!same)
    output = rearranged(output, product.getType(), *reorder);
  if (!logSumExps.empty()) {
    Value lse = withQueryOnly(builder, attention.getLse());
    if (!sameRows)
      lse = rearranged(lse, logSumExps.front().getType(), *reorderRows);
    for (LogSumExpOp op : logSumExps)
      op.getResult().replaceAllUsesWith(lse);
  }
  Block *block = attention->getBlock();
  replaceSum(builder, uses, output, valueScale == 1 ? Value() : valueFactor);
  for (LogSumExpOp op : logSumExps)
    op.erase();
  if (!logSumExps.empty()) // it may have been read before the product with the values
    sortTopologically(block);
  return true;
}

/// How a tensor of dimensions `has` is brought to those that `wanted` (of `shape`) reads. Nothing where that is no order
/// or grouping of its axes.
std::optional<Einsum> Candidate::arrangementOf(const Dimensions &has, ArrayRef<Expr> wanted, ArrayRef<int64_t> shape,
                                               bool &same) const {
  Einsum spec;
  spec.operands = {has};
  spec.result.emplace();
  for (const Expr &index : wanted)
    spec.result->push_back(dimensionFor(simplify(index, domainOf(sizes)), sizes));
  std::vector<std::string> single;
  for (const Dimension &dimension : has)
    llvm::copy_if(dimension.axes, std::back_inserter(single),
                  [&](const std::string &name) { return sizes.at(name) == 1; });
  restoreSingles(*spec.result, shape, single);
  same = print(*spec.result) == print(has);
  for (const Dimension &dimension : *spec.result)
    if (!dimension.isProduct() && !dimension.index.isConstant(0))
      return std::nullopt;
  return spec;
}

/// Whether what depends on the query alone is an einsum over the rows, which is added to the lse; what is not stays a
/// term.
bool Candidate::isAddedAfterwards(const Summand &term) {
  if (term.value || term.factors.empty() || term.application)
    return false;
  // A mask may have kept an index inside, and there may be rows that it leaves no key.
  Domain domain = domainOf(sizes);
  for (const auto &[axis, size] : term.contracted)
    domain[axis] = {0, size - 1};
  for (const Factor &factor : term.factors)
    for (auto [subscript, extent] : llvm::zip(factor.subscripts, shapeOf(factor.operand)))
      if (extent != kRuntime &&
          proveWithin(subscript, {0, extent - 1}, domain, term.guard).outcome != Proof::Proven)
        return false;
  OpBuilder builder(uses.root.getDefiningOp());
  std::vector<std::string> names = leading;
  names.push_back("i");
  SmallVector<int64_t> shape;
  for (const std::string &name : names)
    shape.push_back(sizes[name] == kRuntime ? ShapedType::kDynamic : sizes[name]);
  Summand product = term;
  product.scale = 1;
  Value sum = buildEinsum(builder, product, names, RankedTensorType::get(shape, builder.getF32Type()));
  if (sum)
    queryOnly.push_back({sum, term.scale});
  return static_cast<bool>(sum);
}

Value Candidate::withQueryOnly(OpBuilder &builder, Value lse) const {
  auto type = cast<RankedTensorType>(lse.getType());
  for (auto [sum, factor] : queryOnly) {
    Location location = sum.getLoc();
    auto number = builder.getF32FloatAttr(static_cast<float>(factor));
    Value scale;
    if (type.hasStaticShape()) {
      scale = arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, Attribute(number)));
    } else {
      SmallVector<Value> runTime;
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (type.isDynamicDim(d))
          runTime.push_back(tensor::DimOp::create(builder, location, lse, d));
      scale = tensor::SplatOp::create(builder, location, arith::ConstantOp::create(builder, location, number), type,
                                      runTime);
    }
    Value scaled = arith::MulFOp::create(builder, location, sum, scale);
    lse = arith::AddFOp::create(builder, location, lse, scaled);
  }
  return lse;
}

/// Whether what the attention reads is made from its own lse: then they cannot be one.
bool Candidate::dependsOnLse() const {
  llvm::DenseSet<Operation *> seen;
  std::function<bool(Value)> reaches = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      return false;
    auto own = dyn_cast<LogSumExpOp>(op);
    return (own && llvm::is_contained(logSumExps, own)) || llvm::any_of(op->getOperands(), reaches);
  };
  auto reads = [&](const Summand &summand) {
    return llvm::any_of(summand.factors, [&](const Factor &factor) { return reaches(factor.operand); });
  };
  return reads(value) || llvm::any_of(terms, reads) || llvm::any_of(valueTerms, reads);
}

struct FormAttention : skewer::impl::AttnFormAttentionBase<FormAttention> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    eraseDead(function);
    // The scores of a softmax and of a logsumexp may have been written twice.
    if (!function.getOps<LogSumExpOp>().empty()) {
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance;
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
    SmallVector<SoftmaxOp> softmaxes;
    function.walk([&](SoftmaxOp op) { softmaxes.push_back(op); });
    std::string reasons;
    for (SoftmaxOp softmax : softmaxes) {
      std::string why;
      if (formFrom(softmax, why))
        continue;
      std::string memory = "scores of " + shapeText(softmax.getInput());
      softmax.emitRemark() << "not fused: " << why << "; " << memory << " are held in memory";
      reasons += (reasons.empty() ? "" : "\n") + why + "; " + memory + " are held in memory";
    }
    if (!reasons.empty())
      function->setAttr("attn.unfused", StringAttr::get(&getContext(), reasons));
    eraseDead(function);
  }

  static std::string shapeText(Value tensor) {
    std::string text = "[";
    for (int64_t size : shapeOf(tensor))
      text += (text.size() > 1 ? "," : "") + (size == kRuntime ? std::string("?") : std::to_string(size));
    return text + "]";
  }

  static bool formFrom(SoftmaxOp softmax, std::string &why) {
    auto uses = findWeightUses(softmax, why);
    if (!uses)
      return false;
    why = "the weights do not go into an einsum with the values";
    std::string first;
    for (EinsumOp product : productsWithValues(*uses, softmax)) {
      if (Candidate(softmax, product, *uses).form(why))
        return true;
      if (first.empty())
        first = why;
    }
    if (!first.empty())
      why = first;
    return false;
  }
};
} // namespace
