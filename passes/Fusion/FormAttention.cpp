// attn-form-attention: the softmax of a sum of terms, times values, becomes attn.attention.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/AttentionCandidate.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/JoinProducts.h"
#include "passes/Fusion/ScaleVectors.h"
#include "passes/Fusion/ValueSide.h"
#include "passes/Fusion/VaryingMasks.h"
#include "passes/Fusion/WeightFactors.h"
#include "passes/Passes.h"
#include <cmath>
#include <limits>

namespace skewer {
#define GEN_PASS_DEF_ATTNFORMATTENTION
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns whether a dimension of the operand tells the size of a contracted axis: the axis alone, or a product with
/// it.
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

/// Finds the function between the weights and the sums of terms that they are made of.
std::optional<Refusal> AttentionCandidate::findFunction() {
  function = ScoreFunction::find({source.scores, at}, kQueryAxis, kKeyAxis, domainOf(sizes),
                                 assumable(mask, product), source.direct);
  if (!source.direct) {
    if (function && function->isIdentity())
      function.reset();
    return std::nullopt;
  }
  if (!function)
    return Refusal{"the weights are no function of one sum of products of queries and keys, and one of other terms"};
  if (!function->inside.isConstant(1))
    mask = simplify(mask ? logicalAnd(*mask, function->inside) : function->inside, domainOf(sizes));
  // Without a function and a mask it is less work to multiply the keys with the values, then the queries with that.
  if (function->isIdentity() && !mask)
    return Refusal{};
  return std::nullopt;
}

std::optional<Refusal> AttentionCandidate::expandScore() {
  std::vector<std::vector<ScaledElement>> sums{{{{source.scores, at}, 1}}};
  if (function)
    sums = function->sums;
  ExpansionOptions options;
  options.products = options.functions = true;
  options.query = kQueryAxis, options.key = kKeyAxis;
  // A table with zeros around it can be read under a guard. Padding of keys or of queries cannot.
  options.guards = [](const Expr &inside) {
    std::set<std::string> symbols = symbolsOf(inside);
    return symbols == std::set<std::string>{kQueryAxis, kKeyAxis};
  };
  options.plain.insert(leading.begin(), leading.end());
  std::optional<Expansion> expansion;
  for (bool scaled : {true, false}) {
    options.scaledContractions = scaled;
    terms.clear();
    for (auto [number, sum] : llvm::enumerate(sums)) {
      // Only in sums after the first: the tiles of the content compute the products of the first sum.
      options.keepsRows = number > 0;
      expansion.emplace(domainOf(sizes), assumable(mask, product), options);
      for (const ScaledElement &part : sum)
        for (Summand &term : expansion->expand(part.tensor, part.at)) {
          term.scale *= part.scale;
          term.sum = static_cast<int64_t>(number);
          terms.push_back(std::move(term));
        }
    }
    OpBuilder builder(source.operation);
    VectorScaling scaling(builder, sizes, leading);
    if (!scaled || llvm::all_of(terms, [&](Summand &term) { return scaling.move(term); }))
      break;
  }
  if (llvm::any_of(terms, [](const Summand &term) { return !std::isfinite(term.scale); }))
    return Refusal{"what is summed is infinite everywhere"};
  options.scaledContractions = options.scaledOperands = false;
  // A mask that leaves one key would make the values read that key alone; but the values must tell how many keys there
  // are.
  for (const std::optional<Expr> &known : {assumable(mask, product), std::optional<Expr>()}) {
    Summand read = value;
    Expansion(domainOf(sizes), known, options).lookThroughOperand(read, read.factors[0]);
    bool namesKeys =
        llvm::any_of(read.factors[0].subscripts, [](const Expr &e) { return symbolsOf(e).count(kKeyAxis); });
    if (known && !namesKeys && sizes[kKeyAxis] != 1)
      continue;
    value = std::move(read);
    break;
  }
  for (Summand &term : terms) {
    term.guard = expansion->predicate(term.guard);
    for (const auto &[axis, size] : term.contracted) {
      const std::string &name = axis;
      bool read = llvm::any_of(term.factors, [&](const Factor &factor) {
        return llvm::any_of(factor.subscripts, [&](const Expr &e) { return symbolsOf(e).count(name); });
      });
      // A head dimension of 1 is read at the constant 0 and says nothing.
      if (size == kRuntime)
        return Refusal{"a contracted axis has no size at compile time"};
      if (!read && size != 1)
        return Refusal{"no operand has a contracted axis"};
    }
  }
  llvm::erase_if(terms, [](const Summand &term) { return term.guard.isConstant(0) || term.scale == 0; });
  return std::nullopt;
}

/// Expands what the other products of the weights add to the value of each query and key.
std::optional<Refusal> AttentionCandidate::expandValues() {
  WeightIndices indices{at, keyDimension, sizes, mask};
  for (const WeightedSummand &one : uses.products)
    if (one.tensor == product.getResult())
      valueScale = one.scale, valueFactor = one.factor;
  if (valueScale == 0 || (valueScale != 1 && !valueFactor))
    return Refusal{"the product with the values is scaled in several steps"};
  ExpansionOptions options;
  options.products = options.uneven = true;
  options.whole = source.weights; // direct weights may be a product with a number, or guarded
  options.plain.insert(leading.begin(), leading.end());
  options.guards = [](const Expr &) { return true; };
  Expansion expansion(domainOf(sizes), std::nullopt, options), masked(domainOf(sizes), assumable(mask, product));
  for (const WeightedSummand &one : uses.products) {
    if (one.tensor == product.getResult())
      continue;
    for (const Summand &summand : expansion.expand(one.tensor, resultIndices)) {
      auto term = asValueTerm(summand, source.weights, indices);
      if (!term)
        return term.refusal();
      term->scale *= one.scale / valueScale;
      term->guard = masked.predicate(term->guard); // masked keys have weight 0
      if (!term->guard.isConstant(0) && term->scale != 0)
        valueTerms.push_back(std::move(*term));
    }
  }
  return std::nullopt;
}

/// Returns whether a term of the query alone is finite wherever it and the scores are made of finite numbers: positions
/// decide it, types bound it, or it is a contraction with the query's vector, whose infinities are in the content too.
static bool isFiniteWhereScoresAre(const Summand &term) {
  constexpr double kFarFromTheEnd = 0x1p60;
  return !term.contracted.empty() || term.application || llvm::all_of(term.factors, [&](const Factor &factor) {
           return isWithin(factor.operand, kFarFromTheEnd);
         });
}

/// Returns the infinities of a term of the query alone, which may be a mask of queries: 0 where the term is a finite
/// number, -inf where it is -inf, and NaN where it is NaN or +inf.
std::optional<Summand> AttentionCandidate::infinitiesOf(const Summand &term) {
  OpBuilder builder(uses.root.getDefiningOp());
  Value rows = rowsOf(builder, term);
  if (!rows)
    return std::nullopt;
  Location location = term.location;
  if (term.scale != 1)
    rows = arith::MulFOp::create(builder, location, rows, numberLike(builder, location, rows, term.scale));
  Value least = numberLike(builder, location, rows, -std::numeric_limits<float>::max());
  Value bounded = arith::MaximumFOp::create(builder, location, rows, least);
  Value rest = arith::SubFOp::create(builder, location, rows, bounded); // inf - inf is NaN, as for equal scores of inf
  Summand infinities(location);
  Factor factor{rest, {}};
  for (const std::string &name : leading)
    factor.subscripts.push_back(simplify(Expr::symbol(name), domainOf(sizes)));
  factor.subscripts.push_back(simplify(Expr::symbol(kQueryAxis), domainOf(sizes)));
  infinities.factors = {std::move(factor)};
  return infinities;
}

void AttentionCandidate::dropQueryOnly() {
  // With a single key no term depends on the key, and yet a NaN or an infinity of its score is one in the result.
  if (sizes[kKeyAxis] == 1 && !terms.empty())
    return;
  std::vector<Summand> left;
  if (!isPlainSoftmax()) { // a function depends on terms of the query alone
    for (size_t sum = 0; sum < (function ? function->sums.size() : 1); ++sum)
      if (llvm::none_of(terms, [&](const Summand &term) { return term.sum == int64_t(sum); }))
        terms.push_back(nothingIn(int64_t(sum)));
    return;
  }
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
    bool isFinite = isFiniteWhereScoresAre(term);
    std::optional<Summand> infinities;
    if (!symbols.count(kKeyAxis) && !isFinite)
      infinities = infinitiesOf(term);
    if (symbols.count(kKeyAxis) || (!isFinite && !infinities) || (!logSumExps.empty() && !isAddedAfterwards(term))) {
      left.push_back(std::move(term));
      continue;
    }
    if (infinities)
      left.push_back(std::move(*infinities));
    emitRemark(term.location) << "depends on the query only: softmax is invariant to it, so it is "
                              << (logSumExps.empty() ? "dropped" : "added to the lse alone");
  }
  terms = std::move(left);
  if (terms.empty()) // all keys weigh the same
    terms.push_back(nothingIn(0));
}

Summand AttentionCandidate::nothingIn(int64_t sum) const {
  Summand nothing(source.location());
  nothing.value = Expr(0);
  nothing.sum = sum;
  return nothing;
}

namespace {
struct FormAttention : skewer::impl::AttnFormAttentionBase<FormAttention> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    eraseDead(function);
    // The program may compute the scores of a softmax and of a logsumexp twice.
    if (!function.getOps<LogSumExpOp>().empty()) {
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance;
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
    SmallVector<SoftmaxOp> softmaxes;
    function.walk([&](SoftmaxOp op) { softmaxes.push_back(op); });
    std::string reasons;
    auto note = [&](Operation *op, const std::string &memory, const std::string &why) {
      op->emitRemark() << "not fused: " << why << "; " << memory << " are held in memory";
      reasons += (reasons.empty() ? "" : "\n") + why + "; " + memory + " are held in memory";
    };
    for (SoftmaxOp softmax : softmaxes) {
      WeightSource source = sourceOf(softmax);
      source.stored = storedUses(source);
      if (joinsProducts(source))
        eraseDead(function);
      if (auto refusal = formFrom(source))
        note(softmax, "scores of " + shapeText(softmax.getInput()), refusal->reason);
    }
    eraseDead(function); // terms have replaced products, which are not computed any more
    formDirect(function, note);
    if (!reasons.empty())
      function->setAttr("attn.unfused", StringAttr::get(&getContext(), reasons));
    eraseDead(function);
  }

  /// Forms attentions from products with direct weights, one after the other: forming one may remove other products.
  template <typename Note> static void formDirect(func::FuncOp function, const Note &note) {
    llvm::DenseSet<Operation *> refused;
    auto formOne = [&] {
      for (auto &[product, source] : directSources(function)) {
        if (refused.contains(product))
          continue;
        source->stored = storedUses(*source);
        if (joinsProducts(*source))
          return true; // there are fewer products now
        std::string memory = "weights of " + shapeText(source->weights);
        auto refusal = formFrom(*source);
        if (!refusal)
          return true;
        refused.insert(product);
        if (!refusal->reason.empty())
          note(product, memory, refusal->reason);
      }
      return false;
    };
    while (formOne())
      eraseDead(function);
  }

  using DirectSource = std::pair<EinsumOp, std::optional<WeightSource>>;

  /// Returns the direct sources of the function. Scores come behind the product with the weights that are made of them:
  /// the queries of those scores may be a product through a function too, and only one of the two products becomes an
  /// attention.
  static SmallVector<DirectSource> directSources(func::FuncOp function) {
    SmallVector<DirectSource> sources;
    function.walk([&](EinsumOp op) {
      if (auto source = directSourceOf(op))
        sources.emplace_back(op, std::move(source));
    });
    // Move each product behind the products with weights that are made of it.
    for (size_t n = sources.size(); n-- > 0;)
      for (size_t other = sources.size(); --other > n;)
        if (becomesWeights(sources[n].first, *sources[other].second)) {
          std::rotate(sources.begin() + n, sources.begin() + n + 1, sources.begin() + other + 1);
          break;
        }
    return sources;
  }

  static std::string shapeText(Value tensor) {
    std::string text = "[";
    for (int64_t size : shapeOf(tensor))
      text += (text.size() > 1 ? "," : "") + (size == kRuntime ? std::string("?") : std::to_string(size));
    return text + "]";
  }

  /// Joins several products with the same weights into one, if no sum adds them up.
  static bool joinsProducts(const WeightSource &source) { return !findWeightUses(source) && joinProducts(source); }

  /// Refuses direct weights unless all products with them have the condition of the product that they were found from:
  /// it becomes the mask of one attention. A product without a condition is a source of its own: then the reason is
  /// empty.
  static std::optional<Refusal> refuseConditions(const WeightSource &source, const WeightUses &uses) {
    if (!source.direct || !source.mask)
      return std::nullopt;
    bool all = true, some = true;
    for (const WeightedSummand &one : uses.products) {
      auto product = one.tensor.getDefiningOp<EinsumOp>();
      all &= product && isUnderMask(product, source);
      some &= product && product.getGuard();
    }
    if (all)
      return std::nullopt;
    return Refusal{some ? "products with the weights are under different conditions" : ""};
  }

  /// Forms an attention from the weights. The reason of a refusal is empty if nothing is to be said about it.
  static std::optional<Refusal> formFrom(const WeightSource &source) {
    auto uses = findWeightUses(source);
    if (!uses)
      return uses.refusal();
    if (auto refusal = refuseConditions(source, *uses))
      return refusal;
    std::optional<Refusal> first;
    for (EinsumOp product : productsWithValues(*uses, source.weights)) {
      auto refusal = AttentionCandidate(source, product, *uses).form();
      if (!refusal)
        return std::nullopt;
      if (!first || first->reason.empty())
        first = refusal;
    }
    return first.value_or(Refusal{"the weights do not go into an einsum with the values"});
  }
};
} // namespace
