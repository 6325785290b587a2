// softmax, logsumexp, and `where`: a mask in a softmax's argument, a guard anywhere else.
#include "dialect/Language/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace llvm;
using namespace mlir;

namespace skewer::language {
using subscript::Expr;

/// Evaluates a condition; names of the tensor's axes come before all others.
std::optional<Value> Emitter::predicate(const Node &node, const Value &tensor) {
  Scope inner = *scope;
  std::vector<Axis> own;
  for (const Dimension &d : tensor.dimensions)
    for (const Naming &naming : d.namings)
      for (const Axis &axis : naming) {
        inner.values.erase(axis.name);
        own.push_back(axis);
      }
  inner.axes.insert(inner.axes.begin(), own.begin(), own.end());
  Scope *outer = scope;
  scope = &inner;
  Value value = evaluate(node);
  scope = outer;
  outer->used.insert(inner.used.begin(), inner.used.end());
  if (value.isWhole()) {
    value.kind = ValueKind::Index;
    value.index = Expr(value.integer);
  }
  if (!value.good())
    return std::nullopt;
  if (value.is(ValueKind::Real)) {
    auto index = asIndex(node, value, "'where' takes a condition on positions, such as j <= i");
    if (!index)
      return std::nullopt;
    value.kind = ValueKind::Index;
    value.index = *index;
  }
  if (!value.is(ValueKind::Index)) {
    error(node.text, "'where' takes a condition on positions, such as j <= i, found " + describe(value));
    return std::nullopt;
  }
  return value;
}

/// The condition as text over the chosen names of the tensor's dimensions.
bool Emitter::expressIn(const Node &node, const Value &predicate, const Value &tensor,
                        const std::vector<Naming> &chosen, Expr &result) {
  subscript::Substitution substitution = renaming(tensor.dimensions, chosen);
  subscript::Domain domain;
  for (const Naming &naming : chosen)
    for (const Axis &axis : naming)
      if (axis.runtime.empty())
        domain[axis.name] = {0, axis.size - 1};
  for (const std::string &symbol : subscript::symbolsOf(predicate.index))
    if (!substitution.count(symbol)) {
      std::vector<std::string> names;
      for (const auto &[name, position] : substitution)
        names.push_back(name);
      return error(node.text, "the condition depends on '" + symbol +
                                  "', which is no axis of the tensor; its axes are " + describeAxes(tensor.dimensions) +
                                  suggestion(symbol, names)),
             false;
    }
  attn::addRanges(domain, attn::kernelIndices(builder.getInsertionBlock()->getParentOp()));
  result = subscript::simplify(subscript::substitute(predicate.index, substitution), domain);
  auto bounds = subscript::bound(result, domain, std::nullopt, /*enumerationLimit=*/0);
  if (!bounds || bounds->range.low < 0 || bounds->range.high > 1)
    return error(node.text, "'where' takes a condition on positions, such as j <= i; '" + node.text.str() +
                                "' is a number: compare it with one"),
           false;
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
  const Node *argument = node.operands[0].get();
  std::vector<const Node *> conditions;
  for (; argument->kind == NodeKind::Where; argument = argument->operands[0].get())
    conditions.push_back(argument->operands[1].get());
  if (const Node *named = keyword(node, "where"))
    conditions.push_back(named);
  value = evaluate(*argument);
  value = widen(node, toTensor(node, value));
  if (!value.good())
    return false;
  if (!value.is(ValueKind::Tensor) || value.dimensions.empty())
    return error(argument->text, "'" + function.str() + "' takes a tensor, found " + describe(value)), false;
  if (value.dimensions.back().isRuntime())
    return error(argument->text, "the last dimension, over which the " + function.str() +
                                     " runs, has the run-time size '" + value.dimensions.back().runtime + "'"),
           false;
  names = loneNamings(value.dimensions);
  if (conditions.empty())
    return true;
  Expr all = 1;
  for (const Node *condition : conditions) {
    auto evaluated = predicate(*condition, value);
    Expr one;
    if (!evaluated || !expressIn(*condition, *evaluated, value, names, one))
      return false;
    all = all.isConstant(1) ? one : logicalAnd(all, one);
  }
  mask = builder.getStringAttr(subscript::print(all));
  if (neverHolds(all, names)) {
    diagnostics.warning(conditions.front()->text, "no query ever sees a key: the condition holds nowhere");
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

/// The value where the condition holds, else 0: an einsum takes the condition as its guard.
Value Emitter::emitWhere(const Node &node) {
  Value value = evaluate(*node.operands[0]);
  value = toTensor(*node.operands[0], value);
  if (!value.good())
    return {};
  if (!value.is(ValueKind::Tensor))
    return error(node.operands[0]->text, "'where' follows a tensor, found " + describe(value));
  auto einsum = value.tensor.getDefiningOp<attn::EinsumOp>();
  auto spec = einsum ? subscript::parseEinsum(std::string_view(einsum.getSpec())) : std::nullopt;
  std::vector<Naming> own; // the names that the einsum's own text gives its result
  for (size_t d = 0; spec && d < value.dimensions.size(); ++d)
    for (const Naming &naming : value.dimensions[d].namings)
      if (own.size() == d && print(naming) == subscript::print({(*spec->result)[d]}))
        own.push_back(naming);
  bool guards = spec && own.size() == value.dimensions.size();
  Value named = value;
  if (guards && node.operands[0]->kind == NodeKind::Call && node.operands[0]->name == "einsum") {
    // Right after an einsum its summed axes have names too: what is summed is 0 where the condition does not hold.
    attn::ResolvedEinsum resolved = attn::resolve(einsum);
    for (const std::string &axis : resolved.contracted)
      if (int64_t size = resolved.sizes[axis]; size != subscript::kRuntime) {
        own.push_back({Axis{axis, size, ""}});
        named.dimensions.push_back({size, "", {own.back()}});
      }
  }
  auto condition = predicate(*node.operands[1], named);
  if (!condition)
    return {};
  if (guards) {
    Expr guard;
    if (!expressIn(*node.operands[1], *condition, named, own, guard))
      return {};
    if (einsum.getGuard())
      if (auto before = subscript::parse(std::string_view(*einsum.getGuard())))
        guard = logicalAnd(*before, guard);
    if (neverHolds(guard, own))
      diagnostics.warning(node.operands[1]->text,
                          "the condition holds nowhere: what stands before 'where' is always 0");
    // A copy: the value without the condition may be used elsewhere.
    auto copy = cast<attn::EinsumOp>(builder.clone(*einsum));
    copy.setGuard(subscript::print(guard));
    attn::bindIndices(copy);
    einsumTexts[copy] = einsumTexts[einsum];
    value.tensor = copy.getResult();
    return value;
  }
  Expr checked;
  if (!expressIn(*node.operands[1], *condition, value, loneNamings(value.dimensions), checked))
    return {};
  return arithmetic(node, "*", value, *condition);
}

} // namespace skewer::language
