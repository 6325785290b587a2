// The meaning of ambiguous names: a name may be an axis or a value, or an axis of one part of a sum and of another
// part.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

Value NameMeanings::ambiguous(StringRef place, const std::string &name, const Value &value) {
  error(place, "'" + name + "' is an axis, and " + describe(value) + " too; give one of them another name");
  for (const Scope *s : {static_cast<const Scope *>(scope), static_cast<const Scope *>(&state.globals)})
    if (auto where = s ? s->declared.find(name) : state.globals.declared.end(); s && where != s->declared.end()) {
      diagnostics.note(where->second, "the value is declared here");
      break;
    }
  return {};
}

/// Reports a name that the parts of a tensor use for different things.
Value NameMeanings::clashing(StringRef place, const std::string &name, const Clash &clash) {
  error(place, "'" + name + "' is unclear here: one part of the tensor has the dimension " + clash.naming + ", and '" +
                   clash.name + "' means something else in another part");
  diagnostics.note("give the axes of one of the parts other names");
  return {};
}

/// Makes a parenthesized name, "(row)", an index expression if it is a number or a function of positions.
bool NameMeanings::nameIndices(subscript::Einsum &spec, StringRef text, const subscript::AxisSizes &given) {
  auto isParenthesised = [&](const subscript::Dimension &d) { return d.isAxis() && text.substr(d.begin, 1) == "("; };
  std::set<std::string> bare;
  for (const auto &[axis, size] : given)
    bare.insert(axis);
  auto collect = [&](const subscript::Dimensions &list) {
    for (const subscript::Dimension &d : list)
      if (!isParenthesised(d))
        bare.insert(d.axes.begin(), d.axes.end());
  };
  for (const auto &operand : spec.operands)
    collect(operand);
  collect(*spec.result);
  for (auto &operand : spec.operands)
    for (subscript::Dimension &dimension : operand) {
      const Value *value = isParenthesised(dimension) ? lookup(dimension.axes[0]) : nullptr;
      if (value && !value->good())
        return false; // already reported
      if (!value || !RealFunctions::isFunctionOfPositions(*value))
        continue;
      if (bare.count(dimension.axes[0]) || findAxis(dimension.axes[0]))
        return ambiguous(text.slice(dimension.begin, dimension.end), dimension.axes[0], *value), false;
      dimension.index = Expr::symbol(dimension.axes[0]);
      dimension.axes.clear();
    }
  return true;
}

/// Checks that no name in the text is both an axis and a value. A bare name is an axis; it may also be the number that
/// is the axis's size: param d = 64, "i d". If it is another number, or a function of positions, the meaning is
/// unclear.
bool NameMeanings::checkAxisNames(const subscript::Einsum &spec, StringRef text, const subscript::AxisSizes &sizes) {
  std::vector<const subscript::Dimensions *> lists{&*spec.result};
  for (const subscript::Dimensions &operand : spec.operands)
    lists.push_back(&operand);
  for (const subscript::Dimensions *list : lists)
    for (const subscript::Dimension &dimension : *list)
      for (const std::string &axis : dimension.axes) {
        const Value *value = lookup(axis);
        if (!value || !RealFunctions::isFunctionOfPositions(*value))
          continue;
        auto size = sizes.find(axis);
        if (size == sizes.end() || (value->isWhole() && value->integer == size->second))
          continue;
        ambiguous(text.slice(dimension.begin, dimension.end), axis, *value);
        diagnostics.note("a bare name is an axis, here of size " +
                         (size->second == subscript::kRuntime ? "known at run time" : std::to_string(size->second)) +
                         "; what is read at one place has parentheses, (" + axis + "), or is a number, (3)");
        return false;
      }
  return true;
}

/// Adds a note if a condition uses an inner axis: "(t j)" has an axis j, which is not the flat position, and j <= i may
/// be meant for the last two dimensions.
void NameMeanings::noteInnerAxes(const Node &node, const Value &condition, const Dimensions &dimensions) {
  std::set<std::string> symbols = subscript::symbolsOf(condition.index);
  for (auto [name, fromEnd] : {std::pair("i", 2u), std::pair("j", 1u)}) {
    if (dimensions.size() < fromEnd || !symbols.count(name))
      continue;
    const std::vector<Naming> &namings = dimensions[dimensions.size() - fromEnd].namings;
    if (any_of(namings, [](const Naming &naming) { return naming.size() == 1; }))
      continue;
    for (const Naming &naming : namings) {
      if (none_of(naming, [&, name = name](const Axis &axis) { return axis.name == name; }) ||
          all_of(naming, [&](const Axis &axis) { return symbols.count(axis.name); })) // used on purpose
        continue;
      std::string flat;
      for (const Axis &axis : naming)
        flat = (flat.empty() ? ""
                             : (naming.size() > 2 && &axis != &naming[1] ? "(" + flat + ")" : flat) + "*" +
                                   std::to_string(axis.size) + " + ") +
               axis.name;
      diagnostics.note(node.text, "'" + std::string(name) + "' is an axis of the dimension " + print(naming) +
                                      ", whose position is " + flat);
      break;
    }
  }
}

const Value *NameMeanings::lookup(const std::string &name) {
  if (scope) {
    auto own = scope->values.find(name);
    if (own != scope->values.end()) {
      scope->used.insert(name);
      return &own->second;
    }
  }
  if (scope && scope->isBuiltin)
    return nullptr;
  auto global = state.globals.values.find(name);
  return global == state.globals.values.end() ? nullptr : &global->second;
}

/// Returns the first character of the file, the place for messages about the whole file.
StringRef NameMeanings::wholeText() const {
  return diagnostics.sources.getMemoryBuffer(diagnostics.sources.getMainFileID())->getBuffer().take_front(1);
}

Value NameMeanings::positionAlong(const Node &node, const std::string &name, const Axis &axis) {
  Value value;
  value.kind = ValueKind::Index;
  value.index = typer.positions.globalPosition(name);
  value.isAxis = true;
  value.axes[name] = axis;
  return value;
}

/// Returns position(k): the position along the axis k, even if a value has the same name.
Value NameMeanings::typePosition(const Node &node) {
  if (!typer.expressions.checkArguments(node, 1, 1, {}, "position(axis)"))
    return {};
  const Node &named = *node.operands[0];
  std::string name = named.name.str();
  const Axis *axis = named.kind == NodeKind::Name ? typer.sizes.axisOfBody(name) : nullptr;
  if (!axis && scope->unknown.count(name))
    return {};
  if (!axis)
    return error(named.text, "'position' takes the name of an axis that an operand or an einsum before has named" +
                                 suggestion(named.name, visibleNames()));
  if (auto clash = scope->clashes.find(name); clash != scope->clashes.end())
    return clashing(named.text, name, clash->second);
  return positionAlong(node, name, *axis);
}

} // namespace skewer::language
