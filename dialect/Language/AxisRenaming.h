// Axes under other names, in everything that a value says of them.
#pragma once
#include "dialect/Language/Values.h"
#include <set>

namespace skewer::language {

class AxisRenaming {
public:
  /// The axis is called so from here on.
  void rename(const std::string &axis, const std::string &name) { names[axis] = name; }
  /// The axis is a dimension with these namings. Where there are none it has no name.
  void replace(const std::string &axis, std::vector<Naming> namings) { replaced[axis] = std::move(namings); }
  bool empty() const { return names.empty() && replaced.empty(); }

  /// The value under the new names. Axes without a name that an index expression or a function of positions depends on
  /// are left as they are, and added to `lost`.
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
/// The function with the expressions in the place of the symbols.
RealPtr substitute(const RealPtr &, const subscript::Substitution &);

} // namespace skewer::language
