// softmax and logsumexp, which ignore absent elements, and the conditions that say which elements are absent.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Returns the dimension along which the rows of a softmax run: the dimension of the named axis, else the last one.
/// Nothing after an error.
std::optional<size_t> Reductions::rowAxis(const Node &node, StringRef function, const Value &value) {
  std::string who = "'" + function.str() + "'";
  const Node *axis = typer.expressions.keyword(node, "axis"), *dim = typer.expressions.keyword(node, "dim");
  if (axis && dim)
    return error(dim->text, who + " gets its axis twice"), std::nullopt;
  const Node *given = axis ? axis : dim;
  size_t rank = value.dimensions.size();
  if (!given)
    return typer.moves.requireOrder(node.operands[0]->text, value, who) ? std::optional(rank - 1) : std::nullopt;
  if (given->kind == NodeKind::Name)
    for (const Dimension &dimension : value.dimensions)
      if (auto clash = dimension.clashes.find(given->name.str()); clash != dimension.clashes.end())
        return typer.names.clashing(given->text, given->name.str(), clash->second), std::nullopt;
  if (given->kind == NodeKind::Name)
    for (auto [d, dimension] : enumerate(value.dimensions))
      for (const Naming &naming : dimension.namings)
        for (const Axis &own : naming) {
          if (own.name != given->name)
            continue;
          if (const Value *other = typer.names.lookup(own.name); other && RealFunctions::isFunctionOfPositions(*other))
            return typer.names.ambiguous(given->text, own.name, *other), std::nullopt;
          if (naming.size() == 1)
            return d;
          error(given->text, "'" + own.name + "' is one axis of the dimension " + print(naming) + ", and " + who +
                                 " runs along all of a dimension");
          diagnostics.note("a rearrange makes it a dimension of its own, or its place tells the whole: axis = -1");
          return std::nullopt;
        }
  if (given->kind == NodeKind::Name && !typer.names.lookup(given->name.str()))
    return error(given->text, "'" + given->name.str() + "' is no axis of the tensor; its axes are " +
                                  describeAxes(value.dimensions)),
           std::nullopt;
  auto place = typer.expressions.evaluateWhole(*given, "the dimension that " + who + " runs along");
  if (!place || !typer.moves.requireOrder(given->text, value, "a dimension's number"))
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
std::optional<Reductions::Rows> Reductions::rowsOf(const Node &node, StringRef function) {
  std::string name = function.str();
  if (!typer.expressions.checkArguments(node, 1, 1, {"where", "axis", "dim"},
                                        name + "(x), " + name + "(x where j <= i), " + name + "(x, axis = j)"))
    return std::nullopt;
  const Node &argument = *node.operands[0];
  Rows rows;
  Value &value = rows.tensor;
  value = typer.arithmetic.widen(node, typer.arithmetic.toTensor(node, evaluate(argument)));
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
  if (const Node *named = typer.expressions.keyword(node, "where")) {
    auto evaluated = typer.predicates.predicate(*named, value);
    Condition own{1, named->text, argument.text};
    if (!evaluated || !typer.predicates.placed(*named, *evaluated, value, placeNamings(value.dimensions), own.holds))
      return std::nullopt;
    value.finite.push_back(std::move(own));
  }
  const size_t last = value.dimensions.size() - 1;
  value = typer.moves.moved(node, std::move(value), rows.axis, last);
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
    Expr one = typer.predicates.canonical(subscript::substitute(condition.holds, places), rows.names);
    all = all.isConstant(1) ? one : logicalAnd(all, one);
  }
  rows.mask = all;
  if (typer.predicates.neverHolds(all, rows.names)) {
    diagnostics.warning(conditions.front().text, "no query ever sees a key: the condition holds nowhere");
    diagnostics.note("every row of this " + name + " is empty, so that the layer returns 0");
  }
  return rows;
}

Value Reductions::typeSoftmax(const Node &node) {
  auto rows = rowsOf(node, "softmax");
  if (!rows)
    return {};
  Value &value = rows->tensor;
  typed::Rows softmax{/*isSoftmax=*/true, print(rows->names), print(rows->names.back()), rows->mask};
  value.tensor = append(node, std::move(softmax), value.tensor, value.dimensions);
  const size_t last = value.dimensions.size() - 1;
  return typer.moves.moved(node, std::move(value), last, rows->axis);
}

/// Returns the logarithm of the divisor of the same argument's softmax: a tensor without the dimension of its rows.
Value Reductions::typeLogSumExp(const Node &node) {
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
