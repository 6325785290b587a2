// Descriptions of values for messages, and conversions between the names of their dimensions.
#include "dialect/Language/Values.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdio>
#include <cstdlib>
#include <set>

namespace skewer::language {
using subscript::Expr;

std::string describe(const Dimensions &dimensions) {
  std::string text = "[";
  for (const Dimension &d : dimensions)
    text += (text.size() > 1 ? ", " : "") + (d.isRuntime() ? d.runtime : std::to_string(d.size));
  return text + "]";
}

std::string print(const Naming &naming) {
  if (naming.size() == 1)
    return naming[0].name;
  std::string text = "(";
  for (const Axis &axis : naming)
    text += (text.size() > 1 ? " " : "") + axis.name;
  return text + ")";
}

std::string print(const std::vector<Naming> &namings) {
  std::string text;
  for (const Naming &naming : namings)
    text += (text.empty() ? "" : " ") + print(naming);
  return text;
}

std::string describeAxes(const Dimensions &dimensions) {
  std::string text;
  for (const Dimension &d : dimensions)
    text += (text.empty() ? "" : " ") + (d.namings.empty() ? "_" : print(d.namings[0]));
  return text;
}

/// Returns the fewest digits that give the number back, distinct from a whole number: 0.5, 3.0, 1e+30.
static std::string shortest(double number) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number)
      break;
  }
  std::string result = text;
  return result.find_first_not_of("-0123456789") == std::string::npos ? result + ".0" : result;
}

std::string describe(const Value &value) {
  switch (value.kind) {
  case ValueKind::Error:
    return "an error";
  case ValueKind::Number:
    return "the number " + (value.isInteger ? std::to_string(value.integer) : shortest(value.number));
  case ValueKind::Index:
    return "the index expression " + subscript::abbreviateTables(subscript::print(value.index));
  case ValueKind::Real:
    return "a real-valued function of positions";
  case ValueKind::Size:
    return "the run-time size '" + value.name + "'";
  case ValueKind::Tensor:
    return "a tensor " + describe(value.dimensions);
  case ValueKind::List:
    return "a list of " + std::to_string(value.items.size());
  case ValueKind::Text:
    return "a text";
  case ValueKind::Indices:
    return "the index operand '" + value.name + "' " + describe(value.dimensions);
  }
  return "";
}

std::string describe(const subscript::Assignment &point) {
  std::string text;
  for (const auto &[name, value] : point)
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return text;
}

subscript::Substitution renaming(const Dimensions &dimensions, const std::vector<Naming> &chosen) {
  subscript::Substitution substitution;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    Expr flat = 0;
    for (const Axis &axis : chosen[d])
      flat = chosen[d].size() == 1 ? Expr::symbol(axis.name) : flat * Expr(axis.size) + Expr::symbol(axis.name);
    auto isChosen = [&](const Naming &naming) { return print(naming) == print(chosen[d]); };
    if (dimensions[d].namings.empty() || llvm::any_of(dimensions[d].namings, isChosen))
      for (const Axis &axis : chosen[d])
        substitution.insert({axis.name, Expr::symbol(axis.name)});
    for (const Naming &naming : dimensions[d].namings) {
      int64_t stride = 1;
      for (size_t k = naming.size(); k-- > 0;) {
        Expr position = stride == 1 ? flat : floorDiv(flat, Expr(stride));
        if (k > 0)
          position = mod(position, Expr(naming[k].size));
        substitution.insert({naming[k].name, position});
        stride *= k > 0 ? naming[k].size : 1;
      }
    }
  }
  return substitution;
}

std::string placeName(size_t dimension) { return "d" + std::to_string(dimension) + "'"; }

std::vector<Naming> placeNamings(const Dimensions &dimensions) {
  std::vector<Naming> names;
  for (size_t d = 0; d < dimensions.size(); ++d)
    names.push_back({Axis{placeName(d), dimensions[d].size, dimensions[d].runtime}});
  return names;
}

bool isNamed(const Dimensions &dimensions) {
  return llvm::none_of(dimensions, [](const Dimension &d) { return d.namings.empty(); });
}

std::vector<Naming> loneNamings(const Dimensions &dimensions) {
  std::set<std::string> used;
  std::vector<Naming> names(dimensions.size());
  for (size_t d = 0; d < dimensions.size(); ++d)
    for (const Naming &naming : dimensions[d].namings)
      if (naming.size() == 1 && names[d].empty() && used.insert(naming[0].name).second)
        names[d] = naming;
  for (const Dimension &dimension : dimensions)
    for (const Naming &naming : dimension.namings)
      for (const Axis &axis : naming)
        used.insert(axis.name);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (!names[d].empty())
      continue;
    std::string name = d + 1 == dimensions.size() ? "j" : d + 2 == dimensions.size() ? "i" : "x" + std::to_string(d);
    while (!used.insert(name).second)
      name += "_" + std::to_string(d);
    names[d] = {Axis{name, dimensions[d].size, dimensions[d].runtime}};
  }
  return names;
}

} // namespace skewer::language
