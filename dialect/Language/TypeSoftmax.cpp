// softmax and logsumexp, which ignore absent elements, and the conditions that say which elements are absent.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Evaluates a condition. Names of the tensor's axes hide all other names.
Value Typer::evaluateAmong(const Node &node, const Value &tensor) {
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

std::optional<Value> Typer::predicate(const Node &node, const Value &tensor, StringRef taker) {
  return asPredicate(node, evaluateAmong(node, tensor), tensor, taker);
}

/// Converts an evaluated condition to a predicate over the tensor's axes.
std::optional<Value> Typer::asPredicate(const Node &node, Value value, const Value &tensor, StringRef taker) {
  std::string wanted = taker.str() + " takes a condition on positions, such as j <= i";
  value = sizedBy(std::move(value), tensor.dimensions);
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

/// Expresses the condition, as it was written, over the chosen names of the tensor's dimensions.
bool Typer::placed(const Node &node, const Value &predicate, const Value &tensor, const std::vector<Naming> &chosen,
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

/// Returns the ranges of the names of dimensions and of index operands.
subscript::Domain Typer::rangesOf(ArrayRef<Naming> names) const {
  subscript::Domain domain;
  for (const Naming &naming : names)
    for (const Axis &axis : naming)
      if (axis.runtime.empty())
        domain[axis.name] = {0, axis.size - 1};
  kernel.addRanges(domain);
  return domain;
}

Expr Typer::canonical(const Expr &condition, ArrayRef<Naming> names) const {
  return simplified(condition, rangesOf(names));
}

/// Expresses the condition, simplified, over the chosen names of the tensor's dimensions.
bool Typer::expressIn(const Node &node, const Value &predicate, const Value &tensor,
                      const std::vector<Naming> &chosen, Expr &result, StringRef taker) {
  if (!placed(node, predicate, tensor, chosen, result, taker))
    return false;
  result = canonical(result, chosen);
  return true;
}

/// Returns whether the condition, over these names of the dimensions, is known to be 0 everywhere. False if it depends
/// on values known only at run time.
bool Typer::neverHolds(const Expr &condition, ArrayRef<Naming> names) {
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

/// Returns the dimension along which the rows of a softmax run: the dimension of the named axis, else the last one.
/// Nothing after an error.
std::optional<size_t> Typer::rowAxis(const Node &node, StringRef function, const Value &value) {
  std::string who = "'" + function.str() + "'";
  const Node *axis = keyword(node, "axis"), *dim = keyword(node, "dim");
  if (axis && dim)
    return error(dim->text, who + " is told twice what it runs along"), std::nullopt;
  const Node *given = axis ? axis : dim;
  size_t rank = value.dimensions.size();
  if (!given)
    return requireOrder(node.operands[0]->text, value, who) ? std::optional(rank - 1) : std::nullopt;
  if (given->kind == NodeKind::Name)
    for (const Dimension &dimension : value.dimensions)
      if (auto clash = dimension.clashes.find(given->name.str()); clash != dimension.clashes.end())
        return clashing(given->text, given->name.str(), clash->second), std::nullopt;
  if (given->kind == NodeKind::Name)
    for (auto [d, dimension] : enumerate(value.dimensions))
      for (const Naming &naming : dimension.namings)
        for (const Axis &own : naming) {
          if (own.name != given->name)
            continue;
          if (const Value *other = lookup(own.name); other && isFunctionOfPositions(*other))
            return ambiguous(given->text, own.name, *other), std::nullopt;
          if (naming.size() == 1)
            return d;
          error(given->text, "'" + own.name + "' is one axis of the dimension " + print(naming) + ", and " + who +
                                 " runs along all of a dimension");
          diagnostics.note("a rearrange makes it a dimension of its own, or its place tells the whole: axis = -1");
          return std::nullopt;
        }
  if (given->kind == NodeKind::Name && !lookup(given->name.str()))
    return error(given->text, "'" + given->name.str() + "' is no axis of the tensor; its axes are " +
                                  describeAxes(value.dimensions)),
           std::nullopt;
  auto place = evaluateWhole(*given, "the dimension that " + who + " runs along");
  if (!place || !requireOrder(given->text, value, "a dimension's number"))
    return std::nullopt;
  int64_t size = rank;
  if (*place < -size || *place >= size)
    return error(given->text,
                 "the tensor has " + std::to_string(rank) + " dimensions, found place " + std::to_string(*place)),
           std::nullopt;
  return *place < 0 ? *place + size : *place;
}

/// Evaluates the argument of a softmax or a logsumexp. The dimension that its rows run along becomes the last one; the
/// mask has the conditions of `where`. Nothing after an error.
std::optional<Typer::Rows> Typer::rowsOf(const Node &node, StringRef function) {
  std::string name = function.str();
  if (!checkArguments(node, 1, 1, {"where", "axis", "dim"}, name + "(x), " + name + "(x where j <= i), " + name +
                                                                "(x, axis = j)"))
    return std::nullopt;
  const Node &argument = *node.operands[0];
  Rows rows;
  Value &value = rows.tensor;
  value = widen(node, toTensor(node, evaluate(argument)));
  if (!value.good())
    return std::nullopt;
  if (!value.is(ValueKind::Tensor) || value.dimensions.empty())
    return error(argument.text, "'" + name + "' takes a tensor, found " + describe(value)), std::nullopt;
  auto axis = rowAxis(node, function, value);
  if (!axis)
    return std::nullopt;
  rows.axis = *axis;
  if (const Dimension &along = value.dimensions[*axis]; along.isRuntime()) {
    error(argument.text, std::string(*axis + 1 == value.dimensions.size() ? "the last dimension" : "the dimension") +
                             ", over which the " + name + " runs, has the run-time size '" + along.runtime + "'");
    return std::nullopt;
  }
  if (const Node *named = keyword(node, "where")) {
    auto evaluated = predicate(*named, value);
    Condition own{1, named->text, argument.text};
    if (!evaluated || !placed(*named, *evaluated, value, placeNamings(value.dimensions), own.holds))
      return std::nullopt;
    value.finite.push_back(std::move(own));
  }
  const size_t last = value.dimensions.size() - 1;
  value = moved(node, std::move(value), rows.axis, last);
  if (!value.good())
    return std::nullopt;
  rows.names = loneNamings(value.dimensions);
  Conditions conditions = std::move(value.present);
  conditions.insert(conditions.end(), value.finite.begin(), value.finite.end());
  value.present.clear(), value.finite.clear();
  if (conditions.empty())
    return rows;
  subscript::Substitution places;
  for (size_t d = 0; d < rows.names.size(); ++d)
    places[placeName(d)] = Expr::symbol(rows.names[d][0].name);
  Expr all = 1;
  for (const Condition &condition : conditions) {
    Expr one = canonical(subscript::substitute(condition.holds, places), rows.names);
    all = all.isConstant(1) ? one : logicalAnd(all, one);
  }
  rows.mask = all;
  if (neverHolds(all, rows.names)) {
    diagnostics.warning(conditions.front().text, "no query ever sees a key: the condition holds nowhere");
    diagnostics.note("every row of this " + name + " is empty, so that the layer returns 0");
  }
  return rows;
}

Value Typer::typeSoftmax(const Node &node) {
  auto rows = rowsOf(node, "softmax");
  if (!rows)
    return {};
  Value &value = rows->tensor;
  typed::Rows softmax{/*isSoftmax=*/true, print(rows->names), print(rows->names.back()), rows->mask};
  value.tensor = append(node, std::move(softmax), value.tensor, value.dimensions);
  const size_t last = value.dimensions.size() - 1;
  return moved(node, std::move(value), last, rows->axis);
}

/// Returns the logarithm of the divisor of the same argument's softmax: a tensor without the dimension of its rows.
Value Typer::typeLogSumExp(const Node &node) {
  auto rows = rowsOf(node, "logsumexp");
  if (!rows)
    return {};
  const Value &value = rows->tensor;
  if (value.dimensions.size() < 2)
    return error(node.operands[0]->text,
                 "'logsumexp' takes a tensor of at least 2 dimensions, found " + describe(value));
  Dimensions left(value.dimensions.begin(), value.dimensions.end() - 1);
  typed::Rows sums{/*isSoftmax=*/false, print(rows->names), print(rows->names.back()), rows->mask};
  Value result = tensorValue(append(node, std::move(sums), value.tensor, left), left);
  result.order = value.order;
  return result;
}

} // namespace skewer::language
