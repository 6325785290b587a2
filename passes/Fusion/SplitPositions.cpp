// attn-split-positions: positions that the mask keeps apart, chunk by chunk or residue by residue, become a leading
// axis.
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSPLITPOSITIONS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// Classes for which a conjunct that the algebra leaves open is evaluated at all pairs of them.
static constexpr int64_t kMostClasses = 256;

namespace {
/// What is divided: an axis of queries with that of keys. Position = step * class + rest (chunks), step * rest + class
/// (residues), or, on a map, the class alone; a query sees keys of its own class.
struct Split {
  std::string query, key;
  int64_t step;
  bool isChunk;
  int64_t classes, rest; // how many there are of each; 0: no rest
};

void addDivisors(const Expr &e, std::set<int64_t> &divisors) {
  if ((e.kind() == Kind::FloorDiv || e.kind() == Kind::Mod) && e.operands()[1].isConstant())
    divisors.insert(e.operands()[1].value());
  for (const Expr &operand : e.operands())
    addDivisors(operand, divisors);
}

Expr positionIn(const Split &split, const Expr &whichClass, const Expr &rest) {
  if (!split.rest)
    return whichClass;
  return split.isChunk ? Expr(split.step) * whichClass + rest : Expr(split.step) * rest + whichClass;
}

/// Whether the conjunct holds exactly where query and key are of one class.
bool saysSameClass(const Expr &conjunct, const Split &split) {
  Expr n = Expr::symbol("_query class"), m = Expr::symbol("_key class");
  Domain domain{{"_query class", {0, split.classes - 1}},
                {"_key class", {0, split.classes - 1}},
                {"_query", {0, split.rest - 1}},
                {"_key", {0, split.rest - 1}}};
  Expr said = simplify(substitute(conjunct, {{split.query, positionIn(split, n, Expr::symbol("_query"))},
                                             {split.key, positionIn(split, m, Expr::symbol("_key"))}}),
                       domain);
  if (said == simplify(equal(n, m), domain))
    return true;
  for (const std::string &symbol : symbolsOf(said))
    if (symbol != n.name() && symbol != m.name())
      return false;
  if (split.classes > kMostClasses || !readsOf(said).empty())
    return false;
  for (int64_t a = 0; a < split.classes; ++a)
    for (int64_t b = 0; b < split.classes; ++b) {
      auto holds = evaluate(said, {{n.name(), a}, {m.name(), b}});
      if (!holds || (*holds != 0) != (a == b))
        return false;
    }
  return true;
}

/// An axis of a map that queries and keys have in common: rows of windows, lines.
std::optional<Split> findAxis(const Expr &conjunct, const ScoreSpace &space) {
  if (space.query.size() != space.key.size())
    return std::nullopt;
  for (auto [query, key] : llvm::zip(space.query, space.key)) {
    int64_t size = space.sizes.at(query);
    Split split{query, key, 1, true, size, 0};
    if (size > 1 && size == space.sizes.at(key) && saysSameClass(conjunct, split))
      return split;
  }
  return std::nullopt;
}

std::optional<Split> findSplit(const Expr &conjunct, const ScoreSpace &space) {
  if (space.query.size() > 1)
    return findAxis(conjunct, space);
  int64_t positions = space.queries();
  std::set<int64_t> divisors;
  addDivisors(conjunct, divisors);
  for (int64_t divisor : divisors) {
    if (divisor < 2 || divisor >= positions || positions % divisor)
      continue;
    for (bool isChunk : {true, false}) {
      int64_t others = positions / divisor;
      Split split{
          space.query[0], space.key[0], divisor, isChunk, isChunk ? others : divisor, isChunk ? divisor : others};
      if (saysSameClass(conjunct, split))
        return split;
    }
  }
  return std::nullopt;
}

class Splitting {
public:
  Splitting(AttentionOp attention, const ScoreSpace &space, const Split &split, const Expr &mask)
      : attention(attention), space(space), split(split) {
    std::vector<std::string> taken = space.leading;
    for (const TermOp &term : termsOf(attention))
      for (const std::string &axis : resolve(term).spec.axes())
        taken.push_back(axis);
    taken.insert(taken.end(), space.value.begin(), space.value.end());
    own = nextLeadingName(taken);
    sizes = space.sizes;
    sizes[own] = split.classes;
    for (const std::string &axis : {split.query, split.key}) {
      sizes[axis] = split.rest;
      moved[axis] = positionIn(split, Expr::symbol(own), Expr::symbol(axis));
      if (!split.rest)
        sizes.erase(axis);
    }
    Domain before = domainOf(space.sizes), after = domainOf(sizes);
    for (Domain *domain : {&before, &after})
      domain->insert(space.elements.begin(), space.elements.end());
    for (const Expr &conjunct : conjunctsOf(simplify(mask, before)))
      this->mask = logicalAnd(this->mask, withinClass(conjunct, before));
    this->mask = simplify(this->mask, after);
  }

  /// False where the result cannot be written, or the mask hides everything.
  bool rewrite() {
    if (mask.isConstant(0))
      return false;
    std::vector<TermOp> terms;
    std::vector<Einsum> specs;
    for (TermOp term : termsOf(attention)) {
      ResolvedEinsum resolved = resolve(term);
      AxisSizes all = resolved.sizes;
      for (const auto &[axis, size] : sizes)
        all[axis] = size;
      terms.push_back(term);
      specs.push_back(rewritten(resolved, term.getInputs(), all));
    }
    AxisSizes known;
    for (const auto &[axis, size] : space.sizes)
      if (size != kRuntime)
        known[axis] = size;
    auto values = resolve(attention.getValueSpec(), attention.getValue(), sizesTo(attention.getContext(), known),
                          std::nullopt, nullptr, kernelIndices(attention));
    if (!values || !values->spec.result)
      return false;
    AxisSizes all = values->sizes;
    for (const auto &[axis, size] : sizes)
      all[axis] = size;
    Einsum valueSpec = rewritten(*values, attention.getValue(), all);
    valueSpec.result = values->spec.result;
    for (Dimension &dimension : *valueSpec.result)
      splitAxes(dimension);
    AttentionOp result = make(valueSpec);
    auto text = [&](std::optional<StringRef> e) {
      Expr there = simplify(substitute(*parse(std::string_view(*e)), moved), domainOf(sizes));
      return StringAttr::get(result.getContext(), print(there));
    };
    for (auto [term, spec] : llvm::zip(terms, specs)) {
      term.setSubscripts(print(spec));
      if (term.getGuard())
        term.setGuardAttr(text(term.getGuard()));
      if (term.getValue())
        term.setValueAttr(text(term.getValue()));
      bindIndices(term);
    }
    bindIndices(result);
    return true;
  }

private:
  /// A conjunct of positions as one of a class's. An interval of differences is one of steps.
  Expr withinClass(const Expr &conjunct, const Domain &domain) const {
    auto interval = split.isChunk ? std::nullopt : asOffsetInterval(conjunct, split.query, split.key, domain);
    if (!interval)
      return substitute(conjunct, moved);
    Expr steps = Expr::symbol(split.key) - Expr::symbol(split.query), inside = 1;
    if (interval->low != INT64_MIN)
      inside = lessEqual(Expr(llvm::divideCeilSigned(interval->low, split.step)), steps);
    if (interval->high != INT64_MAX)
      inside = logicalAnd(inside, lessEqual(steps, Expr(llvm::divideFloorSigned(interval->high, split.step))));
    return inside;
  }

  Einsum rewritten(const ResolvedEinsum &resolved, ValueRange operands, const AxisSizes &all) const {
    Einsum spec;
    Domain domain = domainOf(all);
    domain.insert(space.elements.begin(), space.elements.end());
    for (const std::string &axis : space.value)
      domain.erase(axis); // one of a single element would be the constant 0, and the result's alone
    for (auto [operand, subscripts] : llvm::zip(operands, resolved.subscripts)) {
      Dimensions dimensions;
      for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand)))
        dimensions.push_back(dimensionFor(simplify(substitute(subscript, moved), domain), all, extent));
      spec.operands.push_back(std::move(dimensions));
    }
    return spec;
  }

  /// A query becomes the product of its class and its place in that.
  void splitAxes(Dimension &dimension) const {
    auto place = llvm::find(dimension.axes, split.query);
    if (place == dimension.axes.end())
      return;
    if (split.rest)
      dimension.axes.insert(place + !split.isChunk, own);
    else
      *place = own;
  }

  AttentionOp make(const Einsum &valueSpec) {
    OpBuilder builder(attention);
    Dimensions dimensions;
    SmallVector<int64_t> rows;
    std::vector<std::string> leading = space.leading;
    leading.push_back(own);
    for (const std::string &axis : leading)
      add({axis}, dimensions, rows);
    add(space.query, dimensions, rows);
    add(space.key, dimensions, rows);
    rows.pop_back();
    AxisSizes given = sizes;
    for (const std::string &axis : space.leading)
      given.erase(axis);
    for (const std::string &axis : space.value)
      given.erase(axis);
    Value numbers = attention.getTotal() ? attention.getTotal() : attention.getLse();
    Type rowType = numbers ? RankedTensorType::get(rows, builder.getF32Type()) : Type();
    auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
    auto result = AttentionOp::create(
        builder, attention.getLoc(), attention.getResult().getType(), text(print(dimensions)),
        sizesTo(builder.getContext(), given), mask.isConstant(1) ? StringAttr() : text(print(mask)),
        text(print(valueSpec)), attention.getValue(), ScheduleInterface(), attention.getDirect() ? Type() : rowType,
        attention.getDirect() ? rowType : Type(), attention.getDirect());
    result.getScore().takeBody(attention.getScore());
    result.getThrough().takeBody(attention.getThrough());
    result.getValues().takeBody(attention.getValues());
    attention.getResult().replaceAllUsesWith(result.getResult());
    if (numbers)
      numbers.replaceAllUsesWith(together(builder, dimensions, numbers.getType(),
                                          attention.getDirect() ? result.getTotal() : result.getLse()));
    attention.erase();
    return result;
  }

  /// A dimension of those of the axes that there still are.
  void add(const std::vector<std::string> &axes, Dimensions &dimensions, SmallVector<int64_t> &shape) {
    Dimension dimension;
    int64_t size = 1;
    for (const std::string &axis : axes)
      if (auto found = sizes.find(axis); found != sizes.end()) {
        dimension.axes.push_back(axis);
        size = found->second == kRuntime ? ShapedType::kDynamic : size * found->second;
      }
    dimensions.push_back(std::move(dimension));
    shape.push_back(size);
  }

  /// The numbers of rows in the order of queries.
  Value together(OpBuilder &builder, Dimensions dimensions, Type type, Value rows) {
    dimensions.pop_back();
    Einsum spec;
    spec.operands = {dimensions};
    dimensions.erase(dimensions.end() - 2);
    dimensions.back().axes = space.query;
    splitAxes(dimensions.back());
    spec.result = dimensions;
    AxisSizes given;
    for (const std::string &axis : spec.operands[0].back().axes)
      given[axis] = sizes.at(axis);
    return RearrangeOp::create(builder, rows.getLoc(), type, builder.getStringAttr(print(spec)),
                               given.size() > 1 ? sizesTo(builder.getContext(), given) : DictionaryAttr(), rows);
  }

  AttentionOp attention;
  const ScoreSpace &space;
  Split split;
  std::string own;
  AxisSizes sizes; // of the axes as they will be
  Substitution moved;
  Expr mask = 1;
};

bool splitOnce(AttentionOp attention) {
  ScoreSpace space = scoreSpace(attention);
  if (!attention.getMask() || space.query.size() != space.key.size() || space.queries() != space.keys() ||
      llvm::any_of(termsOf(attention), [](TermOp term) { return bool(term.getFunction()); }))
    return false;
  auto mask = parse(std::string_view(*attention.getMask()));
  if (!mask)
    return false;
  Domain domain = domainOf(space.sizes);
  domain.insert(space.elements.begin(), space.elements.end());
  for (const Expr &conjunct : conjunctsOf(simplify(*mask, domain)))
    if (auto split = findSplit(conjunct, space))
      return Splitting(attention, space, *split, *mask).rewrite();
  return false;
}

struct SplitPositions : skewer::impl::AttnSplitPositionsBase<SplitPositions> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    llvm::for_each(attentions, splitOnce);
  }
};
} // namespace
