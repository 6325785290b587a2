// Sums over named axes: sum(x, axis) and mean(x, axis), the axes that an einsum sums over on purpose, and those that it
// may sum over by mistake.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::AxisSizes;
using subscript::kRuntime;

namespace {
/// Returns the items of (a, b) and [a, b]; a alone is one item.
std::vector<const Node *> itemsOf(const Node &node) {
  std::vector<const Node *> items;
  if (node.kind != NodeKind::Tuple)
    return {&node};
  for (const NodePtr &item : node.operands)
    items.push_back(item.get());
  return items;
}

/// Returns the dimension that has the axis, and the number of its naming, both from 0.
std::optional<std::pair<size_t, size_t>> namingWith(const Dimensions &dimensions, StringRef axis) {
  for (size_t d = 0; d < dimensions.size(); ++d)
    for (auto [n, naming] : enumerate(dimensions[d].namings))
      if (any_of(naming, [&](const Axis &a) { return a.name == axis; }))
        return std::pair(d, n);
  return std::nullopt;
}
} // namespace

/// Returns the tensor and the axes of sum(x, j), sum(x, (h, d)), sum(x, -1) and similar functions: axes by name, or
/// dimensions by place. `done` says what happens to the axes, for messages. Nothing after an error.
std::optional<Reductions::AlongAxes> Reductions::alongAxes(const Node &node, StringRef usage, StringRef done) {
  std::string function = "'" + node.name.str() + "'";
  if (!typer.expressions.checkArguments(node, 1, 2, {"axis", "dim"}, usage))
    return std::nullopt;
  const Node *over = node.operands.size() > 1 ? node.operands[1].get() : nullptr;
  for (StringRef name : {"axis", "dim"})
    if (const Node *given = typer.expressions.keyword(node, name)) {
      if (over)
        return error(given->text, function + " gets its axis twice"), std::nullopt;
      over = given;
    }
  auto operand = typer.expressions.tensorArgument(node, 0, /*movesElements=*/false, /*readsPlaces=*/false);
  if (!operand)
    return std::nullopt;
  if (!over) {
    error(node.text, function + " takes the axis that it runs over");
    diagnostics.note("usage: " + usage.str());
    return std::nullopt;
  }

  AlongAxes along;
  along.operand = std::move(*operand);
  const Dimensions &dimensions = along.operand.dimensions;
  int64_t rank = dimensions.size();
  along.naming.resize(rank);
  along.whole.resize(rank, false);
  for (const Node *item : itemsOf(*over)) {
    auto named = item->kind == NodeKind::Name ? namingWith(dimensions, item->name) : std::nullopt;
    const Value *value = item->kind == NodeKind::Name ? typer.names.lookup(item->name.str()) : nullptr;
    if (const Symbol *symbol = resolver.symbols.of(*item); symbol && symbol->kind == SymbolKind::Contested)
      return std::nullopt; // the resolver has reported it
    if (named && value && RealFunctions::isFunctionOfPositions(*value))
      return typer.names.ambiguous(item->text, item->name.str(), *value), std::nullopt;
    if (named) {
      auto [d, n] = *named;
      for (const Dimension &dimension : dimensions)
        if (auto clash = dimension.clashes.find(item->name.str()); clash != dimension.clashes.end())
          return typer.names.clashing(item->text, item->name.str(), clash->second), std::nullopt;
      if ((along.naming[d] && *along.naming[d] != n) || along.whole[d] || !along.names.insert(item->name.str()).second)
        return error(item->text, "'" + item->name.str() + "' is " + done.str() + " already"), std::nullopt;
      along.naming[d] = n;
      continue;
    }
    if (item->kind == NodeKind::Name && !value) {
      std::vector<std::string> names;
      for (const Dimension &d : dimensions)
        for (const Naming &naming : d.namings)
          for (const Axis &axis : naming)
            names.push_back(axis.name);
      error(item->text, "'" + item->name.str() + "' is no axis of the tensor; its axes are " +
                            describeAxes(dimensions) + suggestion(item->name, names));
      if (llvm::any_of(dimensions, [](const Dimension &d) { return d.namings.empty(); }))
        diagnostics.note("_ is a dimension without a name, as in an operand; give its place instead, " +
                         node.name.str() + "(x, " + (node.name == "max" || node.name == "min" ? "axis = " : "") +
                         "-1)");
      return std::nullopt;
    }
    auto place = typer.expressions.evaluateWhole(*item, "the dimension that " + function + " runs over");
    if (!place || !typer.moves.requireOrder(item->text, along.operand, "a dimension's number"))
      return std::nullopt;
    if (*place < -rank || *place >= rank)
      return error(item->text,
                   "the tensor has " + std::to_string(rank) + " dimensions, found place " + std::to_string(*place)),
             std::nullopt;
    size_t d = *place < 0 ? *place + rank : *place;
    if (along.whole[d] || along.naming[d])
      return error(item->text, "dimension " + std::to_string(d) + " is " + done.str() + " already"), std::nullopt;
    along.whole[d] = true;
  }
  return along;
}

/// Returns an einsum that leaves the axes out. A dimension keeps the name of its axis if it has a single one.
Reductions::WithoutAxes Reductions::withoutAxes(const AlongAxes &along) {
  const Dimensions &dimensions = along.operand.dimensions;
  std::vector<Naming> lone = loneNamings(dimensions);
  WithoutAxes left;
  left.spec.operands.emplace_back();
  left.spec.result.emplace();
  for (size_t d = 0; d < dimensions.size(); ++d) {
    subscript::Dimension from, to;
    Naming rest;
    const Naming *chosen = along.naming[d] ? &dimensions[d].namings[*along.naming[d]] : nullptr;
    const Naming &naming = chosen ? *chosen : lone[d];
    for (const Axis &axis : naming) {
      from.axes.push_back(axis.name);
      left.all[axis.name] = dimensions[d].isRuntime() ? kRuntime : axis.size;
      if (naming.size() > 1)
        left.given[axis.name] = axis.size;
      if (!along.whole[d] && !along.names.count(axis.name)) {
        to.axes.push_back(axis.name);
        rest.push_back(axis);
      } else if (dimensions[d].isRuntime()) {
        left.isStatic = false;
      } else {
        left.count *= static_cast<double>(axis.size);
      }
    }
    left.spec.operands[0].push_back(std::move(from));
    if (to.axes.empty())
      continue;
    left.spec.result->push_back(std::move(to));
    left.kept.push_back(dimensions[d]);
    if (chosen) {
      left.kept.back().size = 1;
      for (const Axis &axis : rest)
        left.kept.back().size *= axis.size;
      left.kept.back().namings = {rest};
    }
  }
  return left;
}

/// Returns the sum over the axes of the tensor, or of another tensor of the same shape.
Value Reductions::sumAlong(const Node &node, const AlongAxes &along, WithoutAxes left, const Value &tensor) {
  Value result = typer.einsums.buildEinsum(node, left.spec, {tensor}, left.given, left.all);
  if (result.good())
    result.dimensions = std::move(left.kept), result.order = along.operand.order;
  return result;
}

Value Reductions::typeSum(const Node &node) {
  auto along = alongAxes(node, "sum(x, j) over an axis, sum(x, -1) over a dimension, sum(x, (h, d)) over several",
                         "summed over");
  return along ? sumAlong(node, *along, withoutAxes(*along), along->operand) : Value();
}

/// Returns mean(x, j): the sum divided by the number of elements.
Value Reductions::typeMean(const Node &node) {
  auto along = alongAxes(node, "mean(x, j) over an axis, mean(x, -1) over a dimension, mean(x, (h, d)) over several",
                         "averaged over");
  if (!along)
    return {};
  WithoutAxes left = withoutAxes(*along);
  Value total = sumAlong(node, *along, left, along->operand), count = Value::whole(static_cast<int64_t>(left.count));
  if (!left.isStatic) { // the kernel counts them at run time
    Value ones = along->operand;
    ones.tensor = typer.arithmetic.splat(node, 1, ones.dimensions);
    count = sumAlong(node, *along, left, ones);
  }
  return total.good() && count.good() ? typer.arithmetic.arithmetic(node, "/", std::move(total), std::move(count))
                                      : Value();
}

static void namesIn(const Node &node, std::set<std::string> &names) {
  if (node.kind == NodeKind::Name)
    names.insert(node.name.str());
  for (const NodePtr &operand : node.operands)
    if (operand)
      namesIn(*operand, names);
}

/// Returns the axes that an einsum sums over on purpose: the axes in `sum = (d, e)`, and the axes that its condition
/// names. Nothing after an error.
std::optional<std::set<std::string>> Einsums::meantSums(const Node &node, const subscript::Einsum &spec,
                                                        StringRef text) {
  std::set<std::string> meant;
  std::vector<std::string> axes = spec.axes(), summed = spec.contracted();
  if (const Node *condition = typer.expressions.keyword(node, "where"))
    namesIn(*condition, meant);
  const Node *given = typer.expressions.keyword(node, "sum");
  if (!given || is_contained(axes, "sum"))
    return meant;
  for (const Node *item : itemsOf(*given)) {
    std::string name = item->name.str();
    if (item->kind != NodeKind::Name || !is_contained(axes, name)) {
      error(item->text, "'sum' lists axes of the text, found " + item->text.take_front(40).str() +
                            (item->kind == NodeKind::Name ? suggestion(name, summed) : ""));
      return std::nullopt;
    }
    if (!is_contained(summed, name)) {
      error(item->text, "axis '" + name + "' is one of the result, so it is not summed over");
      return std::nullopt;
    }
    meant.insert(name);
  }
  return meant;
}

/// Warns about an axis that is summed over although only one of several operands has it, once: this is often a mistake.
/// An einsum of one operand has no other way to drop an axis.
void Einsums::warnOfLoneSums(const subscript::Einsum &spec, StringRef text, const AxisSizes &sizes,
                             const std::set<std::string> &meant) {
  if (spec.operands.size() < 2)
    return;
  for (const std::string &axis : spec.contracted()) {
    if (meant.count(axis) || sizes.at(axis) == 1)
      continue;
    const subscript::Dimension *only = nullptr;
    size_t count = 0;
    for (const auto &operand : spec.operands)
      for (const subscript::Dimension &dimension : operand)
        if (is_contained(dimension.axes, axis) || subscript::symbolsOf(dimension.index).count(axis)) {
          only = &dimension;
          ++count;
        }
    if (count != 1)
      continue;
    StringRef place = text.slice(only->begin, only->end);
    size_t within = place.find(axis);
    if (within == StringRef::npos)
      continue; // a number without a name
    place = place.substr(within, axis.size());
    if (!warnedSums.insert(place.data()).second)
      continue;
    diagnostics.warning(place, "axis '" + axis + "' is in one operand only, and summed over");
    diagnostics.note("where that is meant, say so: einsum(…, sum = " + axis + "), or sum(x, " + axis + ") first");
  }
}

} // namespace skewer::language
