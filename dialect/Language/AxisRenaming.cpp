#include "dialect/Language/AxisRenaming.h"

namespace skewer::language {
using subscript::Expr;

void forEachAxis(const Value &value, llvm::function_ref<void(const Axis &)> visit) {
  for (const auto &[name, axis] : value.axes)
    visit(axis);
  for (const Dimension &dimension : value.dimensions)
    for (const Naming &naming : dimension.namings)
      for (const Axis &axis : naming)
        visit(axis);
  for (const Value &item : value.items)
    forEachAxis(item, visit);
}

RealPtr substitute(const RealPtr &function, const subscript::Substitution &substitution) {
  if (function->kind == RealKind::Index)
    return makeReal(subscript::substitute(function->index, substitution), function->node);
  if (function->operands.empty())
    return function;
  std::vector<RealPtr> operands;
  for (const RealPtr &operand : function->operands)
    operands.push_back(substitute(operand, substitution));
  return makeReal(function->kind, std::move(operands), function->node);
}

/// Returns every way to name what the naming names; none if one of its axes has lost its name.
std::vector<Naming> AxisRenaming::renamed(const Naming &naming) const {
  if (naming.size() == 1)
    if (auto whole = replaced.find(naming[0].name); whole != replaced.end())
      return whole->second;
  Naming result;
  for (const Axis &axis : naming) {
    if (auto name = names.find(axis.name); name != names.end()) {
      result.push_back({name->second, axis.size, axis.runtime});
    } else if (auto whole = replaced.find(axis.name); whole == replaced.end()) {
      result.push_back(axis);
    } else if (whole->second.empty()) {
      return {};
    } else {
      result.insert(result.end(), whole->second[0].begin(), whole->second[0].end());
    }
  }
  return {result};
}

Dimension AxisRenaming::renamed(Dimension dimension) const {
  std::vector<Naming> namings;
  for (const Naming &naming : dimension.namings)
    for (Naming &own : renamed(naming))
      if (llvm::none_of(namings, [&](const Naming &known) { return print(known) == print(own); }))
        namings.push_back(std::move(own));
  std::map<std::string, Clash> clashes;
  for (const auto &[name, clash] : dimension.clashes)
    if (auto own = names.find(name); own != names.end())
      clashes.insert({own->second, clash});
    else if (!replaced.count(name))
      clashes.insert({name, clash});
  dimension.namings = std::move(namings);
  dimension.clashes = std::move(clashes);
  return dimension;
}

/// Returns what each axis of an index expression or of a function of positions becomes, and renames the value's axes.
subscript::Substitution AxisRenaming::substitution(Value &value, std::set<std::string> *lost) const {
  subscript::Substitution result;
  std::map<std::string, Axis> axes;
  for (const auto &[name, axis] : value.axes) {
    std::vector<Naming> namings = renamed(Naming{axis});
    if (namings.empty()) {
      if (lost)
        lost->insert(name);
      axes.insert({name, axis});
      continue;
    }
    Expr position = 0;
    for (const Axis &part : namings[0]) {
      position = namings[0].size() == 1 ? Expr::symbol(part.name)
                                        : position * Expr(part.size) + Expr::symbol(part.name);
      axes.insert({part.name, part});
    }
    result.insert({name, position});
  }
  value.axes = std::move(axes);
  return result;
}

Value AxisRenaming::operator()(Value value, std::set<std::string> *lost) const {
  if (empty())
    return value;
  for (Value &item : value.items)
    item = (*this)(std::move(item), lost);
  std::map<std::string, std::string> labels; // the new name for each old name of a dimension
  for (Dimension &dimension : value.dimensions) {
    std::vector<Naming> before = dimension.namings;
    dimension = renamed(std::move(dimension));
    for (const Naming &naming : before)
      if (!dimension.namings.empty())
        labels[print(naming)] = print(dimension.namings[0]);
  }
  for (auto *chains : {&value.order.chains, &value.order.hints})
    for (std::vector<std::string> &chain : *chains) {
      std::vector<std::string> own;
      for (const std::string &label : chain)
        if (auto name = labels.find(label); name != labels.end())
          own.push_back(name->second);
      chain = std::move(own);
    }
  bool isConcerned = llvm::any_of(
      value.axes, [&](const auto &axis) { return names.count(axis.first) || replaced.count(axis.first); });
  if (!isConcerned)
    return value;
  subscript::Substitution positions = substitution(value, lost);
  if (value.is(ValueKind::Index))
    value.index = subscript::substitute(value.index, positions);
  if (value.is(ValueKind::Real))
    value.function = substitute(value.function, positions);
  return value;
}

} // namespace skewer::language
