// Sums over named axes: sum(x, axis), the axes that an einsum is said to sum over, and those that it may not be meant
// to.
#include "dialect/Language/Emitter.h"

using namespace llvm;

namespace skewer::language {
using subscript::AxisSizes;
using subscript::kRuntime;

namespace {
/// (a, b), [a, b] and a alone.
std::vector<const Node *> itemsOf(const Node &node) {
  std::vector<const Node *> items;
  if (node.kind != NodeKind::Tuple)
    return {&node};
  for (const NodePtr &item : node.operands)
    items.push_back(item.get());
  return items;
}

/// The dimension and the naming of it that has the axis, counted from 0.
std::optional<std::pair<size_t, size_t>> namingWith(const Dimensions &dimensions, StringRef axis) {
  for (size_t d = 0; d < dimensions.size(); ++d)
    for (auto [n, naming] : enumerate(dimensions[d].namings))
      if (any_of(naming, [&](const Axis &a) { return a.name == axis; }))
        return std::pair(d, n);
  return std::nullopt;
}
} // namespace

/// sum(x, j), sum(x, (h, d)), sum(x, -1): the sum over axes by name, or over dimensions by place.
Value Emitter::emitSum(const Node &node) {
  StringRef usage = "sum(x, j) over an axis, sum(x, -1) over a dimension, sum(x, (h, d)) over several";
  if (!checkArguments(node, 1, 2, {"axis", "dim"}, usage))
    return {};
  const Node *over = node.operands.size() > 1 ? node.operands[1].get() : nullptr;
  for (StringRef name : {"axis", "dim"})
    if (const Node *given = keyword(node, name)) {
      if (over)
        return error(given->text, "'sum' is told twice what it runs over");
      over = given;
    }
  auto operand = tensorArgument(node, 0);
  if (!operand)
    return {};
  if (!over) {
    error(node.text, "'sum' takes the axis that it runs over");
    diagnostics.note("usage: " + usage.str());
    return {};
  }

  const Dimensions &dimensions = operand->dimensions;
  int64_t rank = dimensions.size();
  std::vector<const Naming *> chosen(rank, nullptr); // of dimensions that are summed over in part
  std::vector<bool> whole(rank, false);
  std::set<std::string> summed;
  for (const Node *item : itemsOf(*over)) {
    auto named = item->kind == NodeKind::Name ? namingWith(dimensions, item->name) : std::nullopt;
    const Value *value = item->kind == NodeKind::Name ? lookup(item->name.str()) : nullptr;
    if (named && value && isFunctionOfPositions(*value))
      return ambiguous(item->text, item->name.str(), *value);
    if (named) {
      auto [d, n] = *named;
      const Naming &naming = dimensions[d].namings[n];
      if ((chosen[d] && chosen[d] != &naming) || whole[d] || !summed.insert(item->name.str()).second)
        return error(item->text, "'" + item->name.str() + "' is summed over already");
      chosen[d] = &naming;
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
        diagnostics.note("_ has no name, as in an operand; its place says which it is, sum(x, -1)");
      return {};
    }
    auto place = evaluateWhole(*item, "a dimension to sum over");
    if (!place)
      return {};
    if (*place < -rank || *place >= rank)
      return error(item->text,
                   "the tensor has " + std::to_string(rank) + " dimensions, found place " + std::to_string(*place));
    size_t d = *place < 0 ? *place + rank : *place;
    if (whole[d] || chosen[d])
      return error(item->text, "dimension " + std::to_string(d) + " is summed over already");
    whole[d] = true;
  }

  // Axes are named as the tensor's are where that is one name for each.
  std::vector<Naming> lone = loneNamings(dimensions);
  subscript::Einsum spec;
  spec.operands.emplace_back();
  spec.result.emplace();
  AxisSizes all;
  Dimensions kept;
  for (int64_t d = 0; d < rank; ++d) {
    subscript::Dimension from, to;
    Naming rest;
    for (const Axis &axis : chosen[d] ? *chosen[d] : lone[d]) {
      from.axes.push_back(axis.name);
      all[axis.name] = dimensions[d].isRuntime() ? kRuntime : axis.size;
      if (!whole[d] && !summed.count(axis.name)) {
        to.axes.push_back(axis.name);
        rest.push_back(axis);
      }
    }
    spec.operands[0].push_back(std::move(from));
    if (to.axes.empty())
      continue;
    spec.result->push_back(std::move(to));
    kept.push_back(dimensions[d]);
    if (chosen[d]) {
      kept.back().size = 1;
      for (const Axis &axis : rest)
        kept.back().size *= axis.size;
      kept.back().namings = {rest};
    }
  }
  AxisSizes given;
  for (const Naming *naming : chosen)
    for (const Axis &axis : naming && naming->size() > 1 ? *naming : Naming())
      given[axis.name] = axis.size;
  Value result = buildEinsum(node, spec, {*operand}, given, all, operand->byName && isNamed(kept));
  if (result.good())
    result.dimensions = std::move(kept);
  return result;
}

static void namesIn(const Node &node, std::set<std::string> &names) {
  if (node.kind == NodeKind::Name)
    names.insert(node.name.str());
  for (const NodePtr &operand : node.operands)
    if (operand)
      namesIn(*operand, names);
}

/// The axes that an einsum sums over on purpose: those of `sum = (d, e)`, and those that its condition names. Nothing
/// after an error.
std::optional<std::set<std::string>> Emitter::meantSums(const Node &node, const subscript::Einsum &spec,
                                                        StringRef text) {
  std::set<std::string> meant;
  std::vector<std::string> axes = spec.axes(), summed = spec.contracted();
  if (const Node *condition = keyword(node, "where"))
    namesIn(*condition, meant);
  const Node *given = keyword(node, "sum");
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

/// An axis of one of several operands, named once in all the text, is summed over: a slip of the pen as often as not.
/// An einsum of one operand has no other way to lose an axis.
void Emitter::warnOfLoneSums(const subscript::Einsum &spec, StringRef text, const AxisSizes &sizes,
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
      continue; // a number, which has no name
    place = place.substr(within, axis.size());
    if (!warnedSums.insert(place.data()).second)
      continue;
    diagnostics.warning(place, "axis '" + axis + "' is in one operand only, and summed over");
    diagnostics.note("where that is meant, say so: einsum(…, sum = " + axis + "), or sum(x, " + axis + ") first");
  }
}

} // namespace skewer::language
