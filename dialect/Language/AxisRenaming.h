// Renames the axes of a value everywhere it mentions them. Calls of schemes use it to pass values between the names of
// the caller and the names of the scheme.
#pragma once
#include "dialect/Language/Values.h"
#include <set>

namespace skewer::language {

class AxisRenaming {
public:
  /// Gives the axis another name.
  void rename(const std::string &axis, const std::string &name) { names[axis] = name; }
  /// Makes the axis a dimension with these namings. If there are none, the dimension has no name.
  void replace(const std::string &axis, std::vector<Naming> namings) { replaced[axis] = std::move(namings); }
  bool empty() const { return names.empty() && replaced.empty(); }

  /// Returns the value under the new names. Axes that lose their name, and that an index expression or a function of
  /// positions depends on, stay as they are and are added to `lost`.
  Value operator()(Value, std::set<std::string> *lost = nullptr) const;

private:
  Dimension renamed(Dimension) const;
  std::vector<Naming> renamed(const Naming &) const;
  subscript::Substitution substitution(Value &, std::set<std::string> *lost) const;

  std::map<std::string, std::string> names;
  std::map<std::string, std::vector<Naming>> replaced;
};

/// Calls `visit` with every axis that the value depends on or that names one of its dimensions.
void forEachAxis(const Value &, llvm::function_ref<void(const Axis &)> visit);
/// Returns the function with each symbol replaced by its expression.
RealPtr substitute(const RealPtr &, const subscript::Substitution &);

} // namespace skewer::language
