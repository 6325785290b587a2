// Kernels that compute a part of a larger layer: part i = n of N from q0. Positions are those of the whole.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;
using subscript::kRuntime;

bool Positions::declarePart(const Statement &statement) {
  StringRef axis = statement.targets[0], origin = statement.message;
  std::string name = axis.str();
  if (state.schemeDepth > 0)
    return error(axis, "a 'part' stands in a kernel; schemes see those of the axes that they are given"), false;
  if (origin != "q0" && origin != "k0" && origin != "head0")
    return error(origin, "expected an origin of the argument struct: q0, k0 or head0, found '" + origin.str() + "'"),
           false;
  if (scope->parts.count(name))
    return error(axis, "axis '" + name + "' is a part already"), false;
  if (typer.names.lookup(name))
    return error(axis, "'" + name + "' has a value; a part is of an axis"), false;
  std::string argument = origin.str();
  if (scope->declared.count(argument))
    return error(origin, "'" + argument + "' is the name of something else, or of another part's origin"), false;
  auto whole = typer.expressions.evaluateWhole(*statement.value, "the length of the whole");
  if (!whole)
    return false;
  if (const Axis *known = findAxis(name); known && known->runtime.empty()) {
    error(axis, "axis '" + name + "' is used before the 'part' that defines it");
    diagnostics.note("move 'part " + name + "', and the numbers that it is computed from, above the first use of '" +
                     name + "'");
    return false;
  }
  // If the statement gives no length, other statements determine it: they read operands along the part, or the whole.
  auto told = [&]() -> std::optional<int64_t> {
    std::set<int64_t> sizes;
    for (bool readsTell : {false, true})
      if (const AxisFacts *all = sizes.empty() ? typer.sizes.factsOfAll(readsTell) : nullptr)
        if (auto body = all->found.find({}); body != all->found.end())
          if (auto axes = body->second.find(name); axes != body->second.end())
            for (const Axis &own : axes->second)
              sizes.insert(own.size);
    if (sizes.size() > 1)
      sizes.erase(*whole);
    return sizes.size() == 1 && *sizes.begin() != kRuntime ? std::optional(*sizes.begin()) : std::nullopt;
  };
  std::optional<int64_t> extent;
  if (statement.extent) {
    if (!(extent = typer.expressions.evaluateWhole(*statement.extent, "the length of the part")))
      return false;
  } else if (!(extent = told())) {
    if (state.isScouting) // a statement further down will determine it
      return true;
    return error(axis, "the length of the part is not known here; say it: part " + name + " = n of …"), false;
  }
  if (*extent < 1 || *extent > *whole || *whole > INT32_MAX)
    return error(statement.value->text, "a part has between 1 and as many positions as the whole, which has at most "
                                        "2^31 - 1; found " +
                                            std::to_string(*extent) + " of " + std::to_string(*whole)),
           false;

  kernel.origins.push_back({origin, axis, {0, *whole - *extent}});
  scope->declared.insert({argument, origin});
  scope->used.insert(argument);
  scope->learn({name, *extent, ""});
  scope->parts[name] = {Expr::read(argument, {Expr(0)}), *extent, *whole};
  return true;
}

const Part *Positions::partOf(const std::string &axis) const {
  if (!scope)
    return nullptr;
  auto part = scope->parts.find(axis);
  return part == scope->parts.end() ? nullptr : &part->second;
}

/// Returns the position along an axis; for a part, its position in the whole.
Expr Positions::globalPosition(const std::string &axis) const {
  const Part *part = partOf(axis);
  Expr position = Expr::symbol(axis);
  return part ? position + part->origin : position;
}

/// Returns whether a dimension of this extent, read by the axis alone, holds the whole that the axis is a part of.
bool Positions::readsWhole(const std::string &axis, int64_t extent) const {
  const Part *part = partOf(axis);
  return part && extent == part->length && extent != part->extent;
}

/// Returns the index at which a dimension of this extent is read. The bare position along a part is relative to the
/// part, unless the dimension holds the whole.
Expr Positions::positionFor(const Expr &index, int64_t extent) const {
  for (const std::string &axis : subscript::symbolsOf(index))
    if (partOf(axis) && index == globalPosition(axis) && !readsWhole(axis, extent))
      return Expr::symbol(axis);
  return index;
}

/// Returns the wanted part of a tensor that has dimensions over the whole.
Value Positions::localised(const Node &node, const Value &value) {
  std::vector<Naming> names = loneNamings(value.dimensions);
  subscript::Einsum spec;
  spec.operands.emplace_back();
  spec.result.emplace();
  subscript::AxisSizes sizes;
  Dimensions dimensions = value.dimensions;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    subscript::Dimension whole, own;
    own.axes = {names[d].size() == 1 ? names[d][0].name : "x" + std::to_string(d) + "'"};
    whole = own;
    for (const Naming &naming : value.dimensions[d].namings)
      if (naming.size() == 1 && readsWhole(naming[0].name, dimensions[d].size)) {
        const Part &part = *partOf(naming[0].name);
        own.axes = {naming[0].name};
        whole.axes.clear();
        whole.index = globalPosition(naming[0].name);
        sizes[naming[0].name] = dimensions[d].size = part.extent;
        dimensions[d].namings = {{Axis{naming[0].name, part.extent, ""}}};
        break;
      }
    spec.operands[0].push_back(whole);
    spec.result->push_back(own);
  }
  if (sizes.empty())
    return value;
  Value part = typer.moves.move(node, typed::Einsum(subscript::print(spec), sizes), value, std::move(dimensions));
  part.order = value.order;
  return part;
}

/// Returns the function with symbols in place of origins. The ranges of the symbols are added to the domain; `back`
/// maps them back.
RealPtr Positions::withoutOrigins(const RealPtr &function, subscript::Domain &domain,
                                  subscript::Substitution &back) const {
  return withIndices(function, [&](const Expr &e) -> std::optional<Expr> {
    for (const auto &[axis, part] : scope->parts)
      if (e == part.origin) {
        std::string symbol = part.origin.name() + " "; // no parsed name has a space
        domain[symbol] = {0, part.length - part.extent};
        back[symbol] = part.origin;
        return Expr::symbol(symbol);
      }
    return std::nullopt;
  });
}

} // namespace skewer::language
