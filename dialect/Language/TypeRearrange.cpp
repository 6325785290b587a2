// rearrange and broadcast, by the names of axes, and the moves of elements that broadcasting in arithmetic uses.
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::AxisSizes;
using subscript::kRuntime;

constexpr int64_t kMostParts = 1024; // the largest number of items in a list

/// Parses the text of a rearrangement: one list of axes and its result, with whole axes only, none twice on a side.
std::optional<subscript::Einsum> Moves::parseRearrangement(const Node &node, std::map<std::string, int64_t> &numbers) {
  StringRef text = node.operands[1]->name;
  const ParsedText &parsed = resolver.texts.of(text);
  if (parsed.isRefused)
    return std::nullopt;
  const std::optional<subscript::Einsum> &spec = parsed.spec;
  numbers = parsed.numbers;
  auto refuse = [&](StringRef place, const std::string &message) {
    error(place, message);
    return std::nullopt;
  };
  if (!spec)
    return refuse(text.drop_front(std::min(parsed.spec.error().position, text.size())).take_front(1), parsed.spec.error().message);
  if (!spec->result || spec->operands.size() != 1)
    return refuse(text, "'" + node.name.str() + "' takes one list of axes and its result: \"a b -> b a\"");
  return spec;
}

bool Moves::checkWholeAxes(const Node &node, const subscript::Einsum &spec, StringRef text) {
  for (const subscript::Dimensions *side : {&spec.operands[0], &*spec.result}) {
    std::set<std::string> seen;
    for (const subscript::Dimension &d : *side) {
      StringRef place = text.slice(d.begin, d.end);
      if (!d.isProduct() && !d.index.isConstant(0))
        return error(place, "'" + node.name.str() + "' moves whole axes; an index expression belongs in an einsum"),
               false;
      for (const std::string &axis : d.axes)
        if (!seen.insert(axis).second)
          return error(place, "axis '" + axis + "' is named twice"), false;
    }
  }
  return true;
}

/// Returns the sizes of all axes of a rearrangement. No axis of more than one element may be dropped.
std::optional<AxisSizes> Moves::rearrangedSizes(const subscript::Einsum &spec, StringRef text,
                                                const Dimensions &dimensions, const AxisSizes &given) {
  for (const auto &[axis, size] : given)
    if (!is_contained(spec.axes(), axis)) {
      error(text, "no axis '" + axis + "' in this text" + suggestion(axis, spec.axes()));
      return std::nullopt;
    }
  std::vector<int64_t> shape;
  for (const Dimension &d : dimensions)
    shape.push_back(d.size);
  auto all = subscript::resolveSizes(spec, {shape}, given);
  if (!all) {
    const subscript::ParseError &why = all.error();
    error(text.drop_front(std::min(why.position, text.size())).take_while([](char c) { return c != ' ' && c != ','; }),
          why.message);
    diagnostics.note("the operand is " + describe(dimensions));
    return std::nullopt;
  }
  if (!typer.names.checkAxisNames(spec, text, *all))
    return std::nullopt;
  for (const std::string &axis : spec.contracted())
    if (all->at(axis) != 1) {
      error(text, "axis '" + axis + "' of size " +
                      (all->at(axis) == kRuntime ? "known at run time" : std::to_string(all->at(axis))) +
                      " is dropped; a sum over it is an einsum");
      return std::nullopt;
    }
  return all;
}

/// Returns the names and dimensions of both sides. Nothing after an error.
std::optional<Moves::Rearrangement> Moves::rearrangement(const subscript::Einsum &spec, StringRef text,
                                                         const Dimensions &dimensions, const AxisSizes &all) {
  std::map<std::string, std::string> runtimes;
  auto refuse = [&](const subscript::Dimension &dimension, const std::string &message) {
    error(text.slice(dimension.begin, dimension.end), message);
    return std::nullopt;
  };
  for (size_t d = 0; d < spec.operands[0].size(); ++d)
    if (dimensions[d].isRuntime()) {
      const subscript::Dimension &dimension = spec.operands[0][d];
      if (!dimension.isAxis())
        return refuse(dimension, "a dimension of run-time size is one axis");
      runtimes[dimension.axes[0]] = dimensions[d].runtime;
    }
  auto naming = [&](const subscript::Dimension &dimension) {
    Naming axes;
    for (const std::string &axis : dimension.axes)
      axes.push_back({axis, all.at(axis), runtimes.count(axis) ? runtimes[axis] : ""});
    return axes;
  };
  Rearrangement moves;
  for (const subscript::Dimension &dimension : spec.operands[0])
    moves.from.push_back(naming(dimension));
  for (const subscript::Dimension &dimension : *spec.result) {
    const Naming &axes = moves.to.emplace_back(naming(dimension));
    Dimension own;
    own.size = 1;
    for (const Axis &axis : axes) {
      if (!axis.runtime.empty() && axes.size() > 1)
        return refuse(dimension, "an axis of run-time size is a dimension by itself");
      own.size = axis.runtime.empty() ? own.size * axis.size : kRuntime;
      own.runtime = axis.runtime;
    }
    if (!axes.empty())
      own.namings.push_back(axes);
    moves.result.push_back(std::move(own));
  }
  return moves;
}

Value Moves::typeRearrange(const Node &node) {
  std::string usage = node.name == "broadcast" ? "broadcast(x, \"a b -> a c b\", c = 14)"
                                               : "rearrange(x, \"b h (x y) d -> b h x y d\", x = 14)";
  if (node.operands.size() != 2 || node.operands[1]->kind != NodeKind::String) {
    bool swapped = node.operands.size() == 2 && node.operands[0]->kind == NodeKind::String;
    error(node.text, "'" + node.name.str() + "' takes a tensor and a text" +
                         (swapped ? ", in this order; here the text comes first" : ""));
    diagnostics.note("usage: " + usage);
    return {};
  }
  auto operand = typer.expressions.tensorArgument(node, 0, /*movesElements=*/true, /*readsPlaces=*/false);
  StringRef text = node.operands[1]->name;
  std::map<std::string, int64_t> numbers;
  auto spec = parseRearrangement(node, numbers);
  if (operand && spec)
    operand = arrangedBy(*node.operands[0], std::move(*operand), spec->operands[0], "'" + node.name.str() + "'");
  AxisSizes given;
  if (!operand && spec && state.isScouting && typer.einsums.keywordSizes(node, given))
    typer.sizes.learnFromOthers(node, *spec, {Value()}, given);
  if (!operand || !spec || !typer.einsums.checkOnes(*spec, {*operand}, text))
    return {};
  if (!typer.einsums.keywordSizes(node, given) || !typer.einsums.nameNumbers(*spec, text, {*operand}, numbers, given) ||
      !checkWholeAxes(node, *spec, text))
    return {};
  auto all = rearrangedSizes(*spec, text, operand->dimensions, given);
  auto moves = all ? rearrangement(*spec, text, operand->dimensions, *all) : std::nullopt;
  if (!moves)
    return {};
  Dimensions &result = moves->result;
  // "3 b h n d" with a run-time size b becomes three tensors, because a run-time size must lead the layout of each.
  bool isList = result.size() > 1 && result[1].isRuntime() && !result[0].isRuntime() && result[0].size <= kMostParts;
  int64_t parts = isList ? result[0].size : 0;
  if (isList) {
    std::swap(result[0], result[1]);
    std::swap(moves->to[0], moves->to[1]);
  }
  // A run-time size must be the first dimension of the result too, because run-time layouts support nothing else.
  for (size_t d = 1; d < result.size(); ++d)
    if (result[d].isRuntime() && !result[d - 1].isRuntime())
      return error(text, "the run-time size '" + result[d].runtime + "' must stay in front");
  typer.sizes.rememberAxes(result);
  Value moved = rearrange(node, *operand, moves->from, moves->to, result);
  if (!isList)
    return moved;
  Value list;
  list.kind = ValueKind::List;
  for (int64_t k = 0; k < parts; ++k)
    list.items.push_back(elementAt(node, moved, 1, k));
  return list;
}

/// Returns the tensor at one place of a dimension, without that dimension. If the second dimension has run-time size,
/// it becomes the first of the result.
Value Moves::elementAt(const Node &node, const Value &given, size_t dimension, int64_t at) {
  Value tensor = given;
  if (dimension == 0 && given.dimensions.size() > 1 && given.dimensions[1].isRuntime()) {
    std::vector<Naming> from;
    for (auto [place, own] : enumerate(given.dimensions))
      from.push_back({Axis{"x" + std::to_string(place), own.size, own.runtime}});
    std::vector<Naming> to = from;
    Dimensions swapped = given.dimensions;
    std::swap(to[0], to[1]);
    std::swap(swapped[0], swapped[1]);
    tensor = rearrange(node, given, from, to, std::move(swapped));
    dimension = 1;
  }
  Dimensions sliced = tensor.dimensions;
  std::vector<int64_t> offsets(sliced.size(), 0), strides(sliced.size(), 1);
  offsets[dimension] = at;
  sliced[dimension] = {1, "", {}};
  Dimensions left = sliced;
  left.erase(left.begin() + static_cast<ptrdiff_t>(dimension));
  Value taken = move(node, typed::Slice{std::move(offsets), std::move(strides)}, tensor, std::move(sliced));
  return reshapeTo(node, typer.absent.carried(std::move(taken), tensor), std::move(left));
}

/// Takes a value apart, (q, k, v) = x: the elements of a list, or a tensor along its first dimension. Nothing after an
/// error.
std::vector<Value> Moves::takenApart(const Node &node, const Value &value, size_t count) {
  if (value.is(ValueKind::List) && value.items.size() == count)
    return value.items;
  if (!requireOrder(node.text, value, "taking apart"))
    return {};
  bool isIndices = value.is(ValueKind::Indices);
  bool isTensor = (value.is(ValueKind::Tensor) || isIndices) && value.dimensions.size() > 1;
  if (!isTensor || value.dimensions[0].isRuntime() || value.dimensions[0].size != static_cast<int64_t>(count)) {
    error(node.text, "expected a list of " + std::to_string(count) + ", found " + describe(value));
    if (isTensor && !isIndices)
      diagnostics.note(
          "a tensor is taken apart along its first dimension: (q, k, v) = rearrange(x, \"b n (3 h d) -> 3 b h "
          "n d\", h = heads)");
    return {};
  }
  std::vector<Value> parts;
  for (size_t k = 0; k < count && isIndices; ++k) {
    parts.push_back(value);
    parts.back().dimensions.erase(parts.back().dimensions.begin());
    parts.back().taken.push_back(subscript::Expr(static_cast<int64_t>(k)));
  }
  for (size_t k = 0; k < count && !isIndices; ++k)
    parts.push_back(elementAt(node, value, 0, static_cast<int64_t>(k)));
  return parts;
}

Value Moves::rearrange(const Node &node, Value value, const std::vector<Naming> &from, const std::vector<Naming> &to,
                       Dimensions dimensions) {
  AxisSizes sizes, known;
  // An operand determines at most one factor of a product; the sizes of the others are given.
  for (const Naming &naming : from) {
    for (size_t k = 0; k + 1 < naming.size(); ++k)
      sizes[naming[k].name] = naming[k].size;
    for (const Axis &axis : naming)
      known[axis.name] = axis.size;
  }
  std::vector<Axis> repeated; // along a run-time size
  for (const Naming &naming : to)
    for (const Axis &axis : naming)
      if (!known.count(axis.name)) {
        if (axis.runtime.empty())
          sizes[axis.name] = axis.size;
        else
          repeated.push_back(axis);
      }
  auto list = [](const std::vector<Naming> &namings) {
    std::string text;
    for (const Naming &naming : namings)
      text += (text.empty() ? "" : " ") + (naming.empty() ? "1" : print(naming));
    return text;
  };
  std::string text = list(from);
  Value operand = std::move(value);
  typed::Element element = operand.tensor->element;
  if (repeated.empty()) {
    value = move(node, typed::Rearrange{text + " -> " + list(to), sizes}, operand, std::move(dimensions));
  } else {
    // Only an operand can give a run-time size, so the operand is multiplied by ones of that size.
    std::vector<typed::Tensor *> inputs{operand.tensor};
    for (const Axis &axis : repeated) {
      Dimensions line{{axis.size, axis.runtime, {{axis}}}};
      inputs.push_back(typer.arithmetic.splat(node, 1, line));
      text += ", " + axis.name;
    }
    typed::Einsum einsum(text + " -> " + list(to), sizes);
    typed::Tensor *product = append(node, std::move(einsum), inputs, dimensions, element);
    value = tensorValue(product, std::move(dimensions));
  }
  if (operand.present.empty() && operand.finite.empty())
    return value;
  Dimensions named = value.dimensions; // only by the axes of this move
  for (size_t d = 0; d < named.size(); ++d)
    named[d].namings = {to[d]};
  subscript::Substitution axes = renaming(named, placeNamings(named)), places;
  for (size_t d = 0; d < from.size(); ++d) {
    subscript::Expr flat = 0;
    for (const Axis &axis : from[d]) {
      auto position = axes.find(axis.name);
      subscript::Expr own = position == axes.end() ? subscript::Expr(0) : position->second;
      flat = &axis == &from[d].front() ? own : flat * subscript::Expr(axis.size) + own;
    }
    places[placeName(d)] = flat;
  }
  typer.absent.moveConditions(value, operand, places);
  return value;
}

} // namespace skewer::language
