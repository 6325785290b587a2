// Writes an attention with divided positions.
#include "passes/Fusion/SplitAttention.h"
#include "dialect/IR/Term.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Analysis/AxisProducts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

Expr Split::queryAt(const Expr &whichClass, const Expr &query) const {
  if (!rest)
    return whichClass;
  return isChunk ? Expr(step) * whichClass + query : Expr(step) * query + whichClass;
}

Expr Split::keyAt(const Expr &whichClass, const Expr &key) const {
  if (!window)
    return queryAt(whichClass, key);
  Expr first = Expr(step) * whichClass + Expr(window->first);
  return min(max(first, Expr(0)), Expr(window->last)) + key;
}

namespace {
class Splitting {
public:
  Splitting(AttentionOp attention, const ScoreSpace &space, const Split &split, const Expr &mask)
      : attention(attention), space(space), split(split) {
    own = nextLeadingName(viewOf(attention)->namesTaken());
    sizes = space.sizes;
    sizes[own] = split.classes;
    sizes[split.query] = split.rest;
    sizes[split.key] = split.window ? split.window->keys : split.rest;
    moved[split.query] = split.queryAt(Expr::symbol(own), Expr::symbol(split.query));
    moved[split.key] = split.keyAt(Expr::symbol(own), Expr::symbol(split.key));
    if (!split.rest) {
      sizes.erase(split.query);
      sizes.erase(split.key);
    }
    Domain before = domainOf(space), after = domainOf(sizes, space);
    for (const Expr &conjunct : conjunctsOf(simplify(mask, before)))
      this->mask = logicalAnd(this->mask, withinClass(conjunct, before));
    this->mask = simplify(this->mask, after);
  }

  /// Rewrites the attention; returns false if the result cannot be written, or the mask hides everything.
  bool rewrite() {
    if (mask.isConstant(0))
      return false;
    auto view = viewOf(attention);
    if (!view->value || view->sharesValues || !view->value->spec.result)
      return false;
    const ResolvedEinsum &values = *view->value;
    std::vector<std::pair<const Term *, Einsum>> terms;
    for (const std::vector<Term> *side : {&view->score, &view->values})
      for (const Term &term : *side)
        terms.push_back({&term, rewritten(term.einsum, TermOp(term.op).getInputs(), with(term.einsum.sizes))});
    Einsum valueSpec = rewritten(values, attention.getValue(), with(values.sizes));
    valueSpec.result = values.spec.result;
    for (Dimension &dimension : *valueSpec.result)
      splitAxes(dimension);
    AttentionOp result = make(valueSpec);
    auto text = [&](const Expr &e) {
      Expr there = simplify(substitute(e, moved), domainOf(sizes));
      return StringAttr::get(result.getContext(), print(there));
    };
    for (const auto &[term, spec] : terms) {
      TermOp op = term->op;
      op.setSubscripts(print(spec));
      if (term->einsum.guard)
        op.setGuardAttr(text(*term->einsum.guard));
      if (term->factor)
        op.setValueAttr(text(*term->factor));
      bindIndices(op);
    }
    bindIndices(result);
    return true;
  }

private:
  /// Returns these sizes, with the new sizes of the divided axes.
  AxisSizes with(AxisSizes all) const {
    for (const auto &[axis, size] : sizes)
      all[axis] = size;
    return all;
  }
  /// Returns a conjunct on positions as a conjunct within a class. An interval of differences becomes one of steps.
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
    Domain domain = domainOf(all, space);
    for (const std::string &axis : space.value)
      domain.erase(axis); // an axis of one element would become the constant 0, and be in the result alone
    for (auto [operand, subscripts] : llvm::zip(operands, resolved.subscripts)) {
      Dimensions dimensions;
      for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand)))
        dimensions.push_back(dimensionFor(simplify(substitute(subscript, moved), domain), all, extent));
      spec.operands.push_back(std::move(dimensions));
    }
    return spec;
  }

  /// Replaces the query axis by the product of its class and its place in the class.
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
    auto type = cast<RankedTensorType>(attention.getResult().getType());
    return replaceByDivided(
        attention, {dimensions, rows, given, mask, valueSpec, attention.getValue(), type},
        [](OpBuilder &, Type, Value result) { return result; },
        [&](OpBuilder &builder, Type type, Value numbers) { return together(builder, dimensions, type, numbers); });
  }

  /// Adds a dimension of those axes that still exist.
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

  /// Rearranges the row numbers into the order of the queries.
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
  AxisSizes sizes; // of the axes after the division
  Substitution moved;
  Expr mask = 1;
};
} // namespace

AttentionOp skewer::replaceByDivided(AttentionOp attention, const DividedAttention &divided,
                                     BroughtBack whole, BroughtBack together) {
  OpBuilder builder(attention);
  Value numbers = attention.getTotal() ? attention.getTotal() : attention.getLse();
  Type rowType = numbers ? RankedTensorType::get(divided.rows, builder.getF32Type()) : Type();
  auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
  auto result = AttentionOp::create(
      builder, attention.getLoc(), divided.type, text(print(divided.dimensions)),
      sizesTo(builder.getContext(), divided.sizes),
      divided.mask.isConstant(1) ? StringAttr() : text(print(divided.mask)), text(print(divided.valueSpec)),
      divided.value, ScheduleInterface(), attention.getDirect() ? Type() : rowType,
      attention.getDirect() ? rowType : Type(), attention.getDirect());
  result.getScore().takeBody(attention.getScore());
  result.getThrough().takeBody(attention.getThrough());
  result.getValues().takeBody(attention.getValues());
  attention.getResult().replaceAllUsesWith(whole(builder, attention.getResult().getType(), result.getResult()));
  if (numbers)
    numbers.replaceAllUsesWith(
        together(builder, numbers.getType(), attention.getDirect() ? result.getTotal() : result.getLse()));
  attention.erase();
  return result;
}

bool skewer::splitAttention(AttentionOp attention, const ScoreSpace &space, const Split &split, const Expr &mask) {
  return Splitting(attention, space, split, mask).rewrite();
}
