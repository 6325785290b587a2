// Conditions on positions, over the axes of a tensor or over its places.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Evaluates a condition. Names of the tensor's axes hide all other names.
Value Predicates::evaluateAmong(const Node &node, const Value &tensor) {
  std::vector<Axis> own;
  for (const Dimension &d : tensor.dimensions)
    for (const Naming &naming : d.namings)
      own.insert(own.end(), naming.begin(), naming.end());
  Scope inner = scope->withAxes(own);
  for (const Axis &axis : own)
    inner.among.insert(axis.name);
  for (const Dimension &d : tensor.dimensions)
    inner.clashes.insert(d.clashes.begin(), d.clashes.end());
  Scope *outer = scope;
  scope = &inner;
  Value value = evaluate(node);
  scope = outer;
  outer->returnFrom(inner);
  return value;
}

std::optional<Value> Predicates::predicate(const Node &node, const Value &tensor, StringRef taker) {
  return asPredicate(node, evaluateAmong(node, tensor), tensor, taker);
}

/// Converts an evaluated condition to a predicate over the tensor's axes.
std::optional<Value> Predicates::asPredicate(const Node &node, Value value, const Value &tensor, StringRef taker) {
  std::string wanted = taker.str() + " takes a condition on positions, such as j <= i";
  value = Arithmetic::sizedBy(std::move(value), tensor.dimensions);
  if (value.isWhole()) {
    value.kind = ValueKind::Index;
    value.index = Expr(value.integer);
  }
  if (!value.good())
    return std::nullopt;
  if (value.is(ValueKind::Real)) {
    auto index = typer.reals.asIndex(node, value, wanted);
    if (!index)
      return std::nullopt;
    value.kind = ValueKind::Index;
    value.index = *index;
  }
  if (!value.is(ValueKind::Index)) {
    bool isOfValues = isConditionOnValues(value);
    error(node.text,
          wanted + ", found " + (isOfValues ? "a condition on values that a kernel computes" : describe(value)));
    if (isOfValues)
      diagnostics.note("by values something is chosen: softmax(scores if P else -inf), or x if P else 0");
    return std::nullopt;
  }
  typer.names.noteInnerAxes(node, value, tensor.dimensions);
  return value;
}

/// Expresses the condition, as it was written, over the chosen names of the tensor's dimensions.
bool Predicates::placed(const Node &node, const Value &predicate, const Value &tensor,
                        const std::vector<Naming> &chosen, Expr &result, StringRef taker) {
  subscript::Substitution substitution = renaming(tensor.dimensions, chosen);
  for (const std::string &symbol : subscript::symbolsOf(predicate.index))
    if (!substitution.count(symbol)) {
      std::vector<std::string> names;
      for (const Dimension &d : tensor.dimensions)
        for (const Naming &naming : d.namings)
          for (const Axis &axis : naming)
            names.push_back(axis.name);
      llvm::sort(names);
      error(node.text, "the condition depends on '" + symbol + "', which is no axis of the tensor; its axes are " +
                           describeAxes(tensor.dimensions) + suggestion(symbol, names));
      if (llvm::any_of(tensor.dimensions, [](const Dimension &d) { return d.namings.empty(); }))
        diagnostics.note(
            "_ is a dimension without a name; the einsum that reads an operand names its dimensions; after a reshape, "
            "name them with a rearrange, or write the condition before the reshape");
      return false;
    }
  result = subscript::substitute(predicate.index, substitution);
  auto bounds = subscript::bound(canonical(result, chosen), rangesOf(chosen), std::nullopt, /*enumerationLimit=*/0);
  if (!bounds || bounds->range.low < 0 || bounds->range.high > 1)
    return error(node.text, taker.str() + " takes a condition on positions, such as j <= i; '" + node.text.str() +
                                "' is a number: compare it with one"),
           false;
  return true;
}

/// Returns the ranges of the names of dimensions and of index operands.
subscript::Domain Predicates::rangesOf(ArrayRef<Naming> names) const {
  subscript::Domain domain;
  for (const Naming &naming : names)
    for (const Axis &axis : naming)
      if (axis.runtime.empty())
        domain[axis.name] = {0, axis.size - 1};
  kernel.addRanges(domain);
  return domain;
}

Expr Predicates::canonical(const Expr &condition, ArrayRef<Naming> names) const {
  return typer.decisions.simplified(condition, rangesOf(names));
}

/// Expresses the condition, simplified, over the chosen names of the tensor's dimensions.
bool Predicates::expressIn(const Node &node, const Value &predicate, const Value &tensor,
                           const std::vector<Naming> &chosen, Expr &result, StringRef taker) {
  if (!placed(node, predicate, tensor, chosen, result, taker))
    return false;
  result = canonical(result, chosen);
  return true;
}

/// Returns whether the condition, over these names of the dimensions, is known to be 0 everywhere. False if it depends
/// on values known only at run time.
bool Predicates::neverHolds(const Expr &condition, ArrayRef<Naming> names) {
  subscript::Domain domain;
  for (const Naming &naming : names)
    for (const Axis &axis : naming)
      if (axis.runtime.empty())
        domain[axis.name] = {0, axis.size - 1};
  for (const std::string &symbol : subscript::symbolsOf(condition))
    if (!domain.count(symbol))
      return false;
  if (!subscript::readsOf(condition).empty())
    return false;
  auto bounds = subscript::bound(condition, domain, std::nullopt, /*enumerationLimit=*/1 << 20);
  return bounds && bounds->range.low == 0 && bounds->range.high == 0;
}

/// Returns a condition in a function of positions as an index expression.
std::optional<Expr> Predicates::conditionOf(const Node &node, const RealPtr &f, const Value &value) {
  auto operand = [&](size_t k) { return conditionOf(node, f->operands[k], value); };
  switch (f->kind) {
  case RealKind::Number:
    return Expr(f->number != 0);
  case RealKind::Index: {
    auto bounds = subscript::bound(f->index, {}, std::nullopt, /*enumerationLimit=*/0);
    return bounds && bounds->range.low >= 0 && bounds->range.high <= 1 ? f->index
                                                                       : subscript::notEqual(f->index, Expr(0));
  }
  case RealKind::Not: {
    auto a = operand(0);
    return a ? std::optional(logicalNot(*a)) : std::nullopt;
  }
  case RealKind::And:
  case RealKind::Or: {
    auto a = operand(0), b = a ? operand(1) : std::nullopt;
    if (!b)
      return std::nullopt;
    return f->kind == RealKind::And ? logicalAnd(*a, *b) : logicalOr(*a, *b);
  }
  default: {
    Value condition = value;
    condition.function = makeReal(RealKind::Not, {makeReal(RealKind::Not, {f}, f->node)}, f->node);
    return typer.reals.asIndex(node, condition, "the condition is one on positions");
  }
  }
}

} // namespace skewer::language
