// attn-form-attention: softmax of a sum of terms, times values, becomes attn.attention.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Fusion/AttentionCandidate.h"
#include "passes/Fusion/AxisProducts.h"
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

/// A name for a leading axis that no other one has.
std::string leadingName(std::string name, const std::vector<std::string> &leading) {
  auto taken = [&](const std::string &n) { return isReserved(n) || llvm::is_contained(leading, n); };
  for (const char *other : {"h", "b", "g", "n", "m", "t"}) {
    if (!name.empty() && !taken(name))
      return name;
    name = other;
  }
  return "leading" + std::to_string(leading.size());
}

// Rows of queries that a head must have so that the others of its group need not be computed with it.
constexpr int64_t kRowsOfHead = 16;
} // namespace

bool AttentionCandidate::findRoles(std::string &why) {
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
      leadingOf[k] = leadingName(weights[k].isAxis() ? weights[k].axes[0] : "", leading);
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
      leadingOf[queries[q]] = leadingName(dimension.isAxis() ? dimension.axes[0] : "", leading);
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
bool AttentionCandidate::sizesAxis(const Factor &factor, const std::string &axis, const AxisSizes &contracted) const {
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

bool AttentionCandidate::expandScore(std::string &why) {
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
  // A mask that leaves one key would have the values read at that alone; it is the values that say how many keys there
  // are.
  for (const std::optional<Expr> &known : {mask, std::optional<Expr>()}) {
    Summand read = value;
    Expansion(domainOf(sizes), known, options).lookThroughOperand(read, read.factors[0]);
    bool namesKeys = llvm::any_of(read.factors[0].subscripts, [](const Expr &e) { return symbolsOf(e).count("j"); });
    if (known && !namesKeys && sizes["j"] != 1)
      continue;
    value = std::move(read);
    break;
  }
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
bool AttentionCandidate::expandValues(std::string &why) {
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

bool AttentionCandidate::dropQueryOnly() {
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
    if (symbols.count("j") || (!logSumExps.empty() && !isAddedAfterwards(term))) {
      left.push_back(std::move(term));
      continue;
    }
    emitRemark(term.location) << "depends on the query only: softmax is invariant to it, so it is "
                              << (logSumExps.empty() ? "dropped" : "added to the lse alone");
  }
  terms = std::move(left);
  if (terms.empty()) { // all keys weigh the same
    Summand nothing(softmax.getLoc());
    nothing.value = Expr(0);
    terms.push_back(nothing);
  }
  return true;
}

std::vector<Expr *> AttentionCandidate::expressions() {
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

bool AttentionCandidate::factorise() {
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
  leadWithGroups();
  return true;
}

/// Heads that share their keys look like queries, outside of those that positions count. Where the heads have rows
/// enough they become a leading axis: then positions are whole again, and what is known of masks and offsets of one
/// head serves. Without anything that tells queries of a head apart they stay together, one row after the other.
void AttentionCandidate::leadWithGroups() {
  int64_t rows = 1;
  for (size_t k = 1; k < query.size(); ++k)
    rows *= sizes[query[k]];
  // What the axes of queries that share an index with a key are.
  std::set<std::string> meeting;
  for (const Expr *e : expressions()) {
    std::set<std::string> symbols = symbolsOf(*e);
    if (llvm::any_of(key, [&](const std::string &axis) { return symbols.count(axis) > 0; }))
      llvm::copy_if(query, std::inserter(meeting, meeting.end()),
                    [&](const std::string &axis) { return symbols.count(axis) > 0; });
  }
  // What depends on the query alone has been summed up over flat positions.
  if (query.size() <= key.size() || rows < kRowsOfHead || !queryOnly.empty() || meeting.empty() ||
      meeting.count(query.front()))
    return;
  std::string name = leadingName("", leading);
  std::vector<std::string> left = axisNames("i", query.size() - 1);
  Substitution renamed = {{query.front(), Expr::symbol(name)}};
  AxisSizes before = sizes;
  for (const std::string &axis : query)
    sizes.erase(axis);
  sizes[name] = before[query.front()];
  for (size_t k = 0; k < left.size(); ++k) {
    renamed[query[k + 1]] = Expr::symbol(left[k]);
    sizes[left[k]] = before[query[k + 1]];
  }
  leading.push_back(name);
  query = left;
  for (Expr *e : expressions())
    *e = substitute(*e, renamed);
  for (std::vector<Expr> *indices : {&resultIndices, &at})
    for (Expr &e : *indices)
      e = substitute(e, renamed);
}

namespace {
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
      if (AttentionCandidate(softmax, product, *uses).form(why))
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
