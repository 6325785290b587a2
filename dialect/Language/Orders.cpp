// Operations that depend on the places of dimensions, and tensors whose dimensions have no order: such tensors are read
// by the names of their axes.
#include "dialect/Language/Typer.h"
#include "dialect/Language/Joins.h"

using namespace llvm;

namespace skewer::language {

/// Returns the names of two dimensions of one size, the one an axis and the other a product, `i` and `(iy ix)`: where
/// they meet as two dimensions, they are often meant to be one.
static std::optional<std::pair<std::string, std::string>> meantToBeOne(const Dimensions &dimensions) {
  for (const Dimension &axis : dimensions)
    for (const Dimension &product : dimensions)
      if (axis.namings.size() == 1 && product.namings.size() == 1 && axis.namings[0].size() == 1 &&
          product.namings[0].size() > 1 && axis.size == product.size && !axis.isRuntime())
        return std::pair(print(axis.namings[0]), print(product.namings[0]));
  return std::nullopt;
}

/// Checks that the order of the dimensions is written; reports an error and returns false otherwise. `who` is the
/// operation that needs it: "'pad'".
bool Moves::requireOrder(StringRef place, const Value &value, const std::string &who) {
  auto open = value.is(ValueKind::Tensor) ? firstOpen({value.dimensions, value.order}) : std::nullopt;
  if (!open)
    return true;
  std::string axes = describeAxes(value.dimensions), first = print(value.dimensions[*open].namings[0]),
              second = print(value.dimensions[*open + 1].namings[0]);
  error(place, who + " depends on the order of the dimensions, and nothing says whether '" + first + "' or '" + second +
                   "' comes first");
  if (auto both = meantToBeOne(value.dimensions)) {
    diagnostics.note("'" + both->first + "' and '" + both->second + "' are two dimensions here (" + axes +
                     "); if they are the same positions, give the product the axis's name before it is added: "
                     "rearrange(x, \"… " +
                     both->second + " … -> … " + both->first + " …\")");
    return false;
  }
  diagnostics.note(
      "it is computed from parts with one of these axes each, or from positions along both; name the axis, sum(x, " +
      second + ") or softmax(x, axis = " + second + "), or give the order: rearrange(x, \"" + axes + " -> " + axes +
      "\")");
  return false;
}

/// Returns the tensor with its dimensions in the order of these places; the order is written from then on.
Value Moves::arranged(const Node &node, Value value, ArrayRef<size_t> places) {
  std::vector<Naming> from = loneNamings(value.dimensions), to;
  Dimensions dimensions;
  bool isMoved = false;
  for (auto [at, place] : enumerate(places)) {
    isMoved |= at != place;
    to.push_back(from[place]);
    dimensions.push_back(value.dimensions[place]);
  }
  value.order = {};
  if (!isMoved)
    return value;
  for (size_t d = 1; d < dimensions.size(); ++d)
    if (dimensions[d].isRuntime() && !dimensions[d - 1].isRuntime())
      return error(node.text, "the run-time size '" + dimensions[d].runtime + "' must stay in front");
  return rearrange(node, std::move(value), from, to, std::move(dimensions));
}

/// Returns the tensor with one dimension moved to another place, in whatever order the dimensions are.
Value Moves::moved(const Node &node, Value value, size_t from, size_t to) {
  if (from == to)
    return value;
  std::vector<size_t> places;
  for (size_t d = 0; d < value.dimensions.size(); ++d)
    if (d != from)
      places.push_back(d);
  places.insert(places.begin() + static_cast<ptrdiff_t>(to), from);
  Order order = value.order;
  value = arranged(node, std::move(value), places);
  value.order = std::move(order);
  return value;
}

/// Returns an operand in the order of an einsum's or a rearrangement's text. If its dimensions have no order, the text
/// must name all of its axes and nothing else. Nothing after an error.
std::optional<Value> Moves::arrangedBy(const Node &node, Value value, const subscript::Dimensions &text,
                                       const std::string &who) {
  if (!firstOpen({value.dimensions, value.order}))
    return value;
  std::vector<std::string> names;
  for (const subscript::Dimension &dimension : text)
    names.push_back(dimension.isProduct() ? subscript::print({dimension}) : "");
  auto places = placesOf(value.dimensions, names);
  if (!places)
    return requireOrder(node.text, value, who), std::nullopt;
  Value moved = arranged(node, std::move(value), *places);
  return moved.good() ? std::optional(moved) : std::nullopt;
}

} // namespace skewer::language
