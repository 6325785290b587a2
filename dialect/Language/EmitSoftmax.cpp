// softmax and logsumexp, which leave absent elements out, and the conditions that say which these are.
#include "dialect/Language/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace llvm;
using namespace mlir;

namespace skewer::language {
using subscript::Expr;

/// Evaluates a condition; names of the tensor's axes come before all others.
Value Emitter::evaluateAmong(const Node &node, const Value &tensor) {
  Scope inner = *scope;
  std::vector<Axis> own;
  for (const Dimension &d : tensor.dimensions)
    for (const Naming &naming : d.namings)
      for (const Axis &axis : naming) {
        inner.among.insert(axis.name);
        llvm::erase_if(inner.axes, [&](const Axis &outer) { return outer.name == axis.name; });
        own.push_back(axis);
      }
  for (const Dimension &d : tensor.dimensions)
    inner.clashes.insert(d.clashes.begin(), d.clashes.end());
  inner.axes.insert(inner.axes.begin(), own.begin(), own.end());
  Scope *outer = scope;
  scope = &inner;
  Value value = evaluate(node);
  scope = outer;
  outer->used.insert(inner.used.begin(), inner.used.end());
  return value;
}

std::optional<Value> Emitter::predicate(const Node &node, const Value &tensor, StringRef taker) {
  return asPredicate(node, evaluateAmong(node, tensor), tensor, taker);
}

/// The same of what the condition was evaluated to.
std::optional<Value> Emitter::asPredicate(const Node &node, Value value, const Value &tensor, StringRef taker) {
  std::string wanted = taker.str() + " takes a condition on positions, such as j <= i";
  if (value.isWhole()) {
    value.kind = ValueKind::Index;
    value.index = Expr(value.integer);
  }
  if (!value.good())
    return std::nullopt;
  if (value.is(ValueKind::Real)) {
    auto index = asIndex(node, value, wanted);
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
  noteInnerAxes(node, value, tensor.dimensions);
  return value;
}

/// The condition over the chosen names of the tensor's dimensions, as it was written.
bool Emitter::placed(const Node &node, const Value &predicate, const Value &tensor, const std::vector<Naming> &chosen,
                     Expr &result, StringRef taker) {
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
            "_ has no name, as in an operand, which the einsum that reads it names, or after a reshape: the "
            "condition stands before that, or a rearrange names what it makes");
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

/// What the names of dimensions, and index operands, may be.
subscript::Domain Emitter::rangesOf(ArrayRef<Naming> names) const {
  subscript::Domain domain;
  for (const Naming &naming : names)
    for (const Axis &axis : naming)
      if (axis.runtime.empty())
        domain[axis.name] = {0, axis.size - 1};
  attn::addRanges(domain, attn::kernelIndices(builder.getInsertionBlock()->getParentOp()));
  return domain;
}

Expr Emitter::canonical(const Expr &condition, ArrayRef<Naming> names) const {
  return simplified(condition, rangesOf(names));
}

/// The condition as text over the chosen names of the tensor's dimensions.
bool Emitter::expressIn(const Node &node, const Value &predicate, const Value &tensor,
                        const std::vector<Naming> &chosen, Expr &result, StringRef taker) {
  if (!placed(node, predicate, tensor, chosen, result, taker))
    return false;
  result = canonical(result, chosen);
  return true;
}

/// Whether the condition, over these names of the dimensions, is known to be 0 everywhere. False where it depends on
/// what is known at run time only.
bool Emitter::neverHolds(const Expr &condition, ArrayRef<Naming> names) {
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

/// The argument of a softmax or a logsumexp: a tensor, names of its dimensions, and what `where` leaves of its rows.
bool Emitter::rowsOf(const Node &node, StringRef function, Value &value, std::vector<Naming> &names, StringAttr &mask) {
  if (!checkArguments(node, 1, 1, {"where"}, (function + "(x), " + function + "(x where j <= i)").str()))
    return false;
  const Node &argument = *node.operands[0];
  value = widen(node, toTensor(node, evaluate(argument)));
  if (!value.good())
    return false;
  if (!value.is(ValueKind::Tensor) || value.dimensions.empty())
    return error(argument.text, "'" + function.str() + "' takes a tensor, found " + describe(value)), false;
  if (value.dimensions.back().isRuntime())
    return error(argument.text, "the last dimension, over which the " + function.str() +
                                    " runs, has the run-time size '" + value.dimensions.back().runtime + "'"),
           false;
  names = loneNamings(value.dimensions);
  Conditions conditions = std::move(value.present);
  conditions.insert(conditions.end(), value.finite.begin(), value.finite.end());
  value.present.clear(), value.finite.clear();
  if (const Node *named = keyword(node, "where")) {
    auto evaluated = predicate(*named, value);
    Condition own{1, named->text, argument.text};
    if (!evaluated || !placed(*named, *evaluated, value, placeNamings(value.dimensions), own.holds))
      return false;
    conditions.push_back(std::move(own));
  }
  if (conditions.empty())
    return true;
  subscript::Substitution places;
  for (size_t d = 0; d < names.size(); ++d)
    places[placeName(d)] = Expr::symbol(names[d][0].name);
  Expr all = 1;
  for (const Condition &condition : conditions) {
    Expr one = canonical(subscript::substitute(condition.holds, places), names);
    all = all.isConstant(1) ? one : logicalAnd(all, one);
  }
  mask = builder.getStringAttr(subscript::print(all));
  if (neverHolds(all, names)) {
    diagnostics.warning(conditions.front().text, "no query ever sees a key: the condition holds nowhere");
    diagnostics.note("every row of this " + function.str() + " is empty, so that the layer returns 0");
  }
  return true;
}

Value Emitter::emitSoftmax(const Node &node) {
  Value value;
  std::vector<Naming> names;
  StringAttr mask;
  if (!rowsOf(node, "softmax", value, names, mask))
    return {};
  auto op =
      attn::SoftmaxOp::create(builder, location(node), value.tensor.getType(), builder.getStringAttr(print(names)),
                              builder.getStringAttr(print(names.back())), mask, DictionaryAttr(), value.tensor);
  attn::bindIndices(op);
  value.tensor = op.getResult();
  value.byName = false;
  return value;
}

/// What the softmax of the same argument divides by, as a logarithm: a tensor without the last dimension.
Value Emitter::emitLogSumExp(const Node &node) {
  Value value;
  std::vector<Naming> names;
  StringAttr mask;
  if (!rowsOf(node, "logsumexp", value, names, mask))
    return {};
  if (value.dimensions.size() < 2)
    return error(node.operands[0]->text,
                 "'logsumexp' takes a tensor of at least 2 dimensions, found " + describe(value));
  Dimensions rows(value.dimensions.begin(), value.dimensions.end() - 1);
  auto op = attn::LogSumExpOp::create(builder, location(node), typeOf(rows, builder.getF32Type()),
                                      builder.getStringAttr(print(names)), builder.getStringAttr(print(names.back())),
                                      mask, DictionaryAttr(), value.tensor);
  attn::bindIndices(op);
  return tensorValue(op.getResult(), rows);
}

} // namespace skewer::language
