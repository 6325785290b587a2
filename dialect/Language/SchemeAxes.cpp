// The axes of a scheme and of its caller, which have different names. The axes of arguments are renamed on the way in,
// and back on the way out. An axis that the scheme cannot name keeps its name, or gets one that no specification has.
#include "dialect/Language/Joins.h"
#include "dialect/Language/NameAxes.h"
#include "dialect/Language/SchemeCall.h"

using namespace llvm;

namespace skewer::language {

static std::string sizeOf(int64_t size, const std::string &runtime) {
  return runtime.empty() ? std::to_string(size) : runtime;
}

static bool haveSameName(ArrayRef<Naming> some, ArrayRef<Naming> others) {
  return any_of(some, [&](const Naming &one) {
    return any_of(others, [&](const Naming &other) { return print(one) == print(other); });
  });
}

/// Binds an operand such as `x : [b, h, n, d]`: the argument's dimensions are these axes.
bool Schemes::bindAxes(SchemeCall &call, const SchemeOperand &operand, const Value &value, const Node &argument) {
  std::string axes;
  for (StringRef axis : operand.axes)
    axes += (axes.empty() ? "" : ", ") + axis.str();
  if ((!value.is(ValueKind::Tensor) && !value.is(ValueKind::Indices)) ||
      value.dimensions.size() != operand.axes.size()) {
    error(argument.text, "argument '" + operand.name.str() + "' is a tensor [" + axes + "], found " + describe(value));
    diagnostics.note(operand.name, "declared here");
    return false;
  }
  if (!typer.moves.requireOrder(argument.text, value, "argument '" + operand.name.str() + "'"))
    return false;
  for (size_t d = 0; d < operand.axes.size(); ++d) {
    const Dimension &dimension = value.dimensions[d];
    std::string name = operand.axes[d].str();
    const Axis *known = call.own.axis(name);
    if (known && (known->size != dimension.size || known->runtime != dimension.runtime)) {
      error(argument.text, "axis '" + name + "' of argument '" + operand.name.str() + "' has size " +
                               sizeOf(dimension.size, dimension.runtime) + ", but " +
                               sizeOf(known->size, known->runtime) + " in an argument before");
      diagnostics.note(operand.axes[d], "declared here");
      return false;
    }
    std::vector<Naming> &back = call.back[name];
    if (!known) {
      call.own.learn({name, dimension.size, dimension.runtime});
      back = dimension.namings;
    } else if (back.empty()) {
      back = dimension.namings;
    } else if (!dimension.namings.empty()) { // two arguments have different names: neither counts
      erase_if(back, [&](const Naming &naming) { return !haveSameName({naming}, dimension.namings); });
      for (const Naming &naming : dimension.namings)
        if (naming.size() == 1 && !haveSameName({naming}, back))
          call.inside[naming[0].name].insert({name, name + "'"}); // this axis is not its only meaning
    }
    for (const Naming &naming : dimension.namings)
      if (naming.size() == 1)
        call.inside[naming[0].name].insert(name);
  }
  return true;
}

/// Drops a name of the caller that stands for two axes of the scheme, for example for queries and for keys: neither of
/// them gets it back.
void Schemes::settleNames(SchemeCall &call) {
  for (auto &[axis, namings] : call.back)
    erase_if(namings, [&](const Naming &naming) {
      return naming.size() == 1 && call.inside[naming[0].name].size() > 1;
    });
}

/// Makes the scheme's axis the same as this axis of the caller.
bool Schemes::takeCallersAxis(SchemeCall &call, const std::string &axis, const Axis &callers, StringRef place) {
  const Axis *known = call.own.axis(axis);
  if (known && (known->size != callers.size || known->runtime != callers.runtime))
    return error(place, "axis '" + axis + "' has size " + sizeOf(known->size, known->runtime) +
                            " in the operands, but " + sizeOf(callers.size, callers.runtime) + " here"),
           false;
  std::vector<Naming> own{{callers}};
  if (known && !call.back[axis].empty() && !haveSameName(own, call.back[axis]))
    return error(place, "axis '" + axis + "' is '" + print(call.back[axis][0]) + "' in the operands, but '" +
                            callers.name + "' here"),
           false;
  if (!known)
    call.own.learn({axis, callers.size, callers.runtime});
  call.back[axis] = std::move(own);
  call.inside[callers.name].insert(axis);
  return true;
}

/// Names an axis of the score. Its source is, in this order: the call, by its size or by an axis of the caller; an
/// operand; the caller's axis of that name, with all sizes that it has there.
bool Schemes::nameScoreAxis(SchemeCall &call, const std::string &name) {
  if (!takesFromCaller(call.scheme, name))
    return true;
  const Axis *known = call.own.axis(name);
  if (const Node *given = typer.expressions.keyword(call.node, name)) {
    const Value *value = given->kind == NodeKind::Name ? typer.names.lookup(given->name.str()) : nullptr;
    const Axis *axis = given->kind == NodeKind::Name && !value ? typer.sizes.axisOfBody(given->name.str())
                       : given->kind == NodeKind::Name         ? findAxis(given->name.str())
                                                               : nullptr;
    if (axis && !(value && value->is(ValueKind::Number)))
      return takeCallersAxis(call, name, *axis, given->text);
    auto size = typer.expressions.evaluateWhole(*given, "the size of axis '" + name + "'");
    if (!size)
      return false;
    if (*size < 1)
      return error(given->text, "axis '" + name + "' has a size of at least 1, found " + std::to_string(*size)), false;
    if (known && known->size != *size)
      return error(given->text, "axis '" + name + "' has size " + std::to_string(known->size) +
                                    " in the operands, but " + std::to_string(*size) + " here"),
             false;
    if (!known)
      call.own.learn({name, *size, ""});
  } else if (const Axis *callers = findAxis(name);
             callers && !call.inside.count(name) && call.back[name].empty() &&
             (!known || (known->size == callers->size && known->runtime == callers->runtime))) {
    if (!takeCallersAxis(call, name, *callers, call.node.text))
      return false;
    if (!known)
      typer.sizes.inheritAxis(name, call.own);
  } else if (known && !callers && call.back[name].empty() && resolver.symbols.isScoreAxisAt(call.node, name)) {
    // The operand's dimension has no name, and the caller names the axis further down.
    call.back[name] = {{*known}};
  } else if (!known && !callers) {
    typer.sizes.inheritAxis(name, call.own);
  }
  return true;
}

/// Names the axes that the other arguments depend on: the axis of the scheme if it is one, otherwise a name that the
/// scheme cannot use.
void Schemes::hideAxes(SchemeCall &call) {
  std::map<std::string, Axis> axes;
  for (size_t k = 0; k < call.arguments.size(); ++k)
    if (call.places[k] && !call.scheme.operands[k].isTensor)
      forEachAxis(call.arguments[k], [&](const Axis &axis) { axes.insert({axis.name, axis}); });
  for (const auto &[name, axis] : axes) {
    auto inside = call.inside.find(name);
    if (inside != call.inside.end() && inside->second.size() == 1) {
      if (*inside->second.begin() != name)
        call.in.rename(name, *inside->second.begin());
      continue;
    }
    std::string hidden = name;
    while (resolver.schemes.mentions(call.scheme, hidden) || (hidden != name && axes.count(hidden)))
      hidden += "'";
    if (hidden != name)
      call.in.rename(name, hidden);
    call.hidden[hidden] = name;
    call.own.learn({hidden, axis.size, axis.runtime});
  }
}

/// Gives the scheme the parts of those caller's axes that its own axes stand for, not of others of the same length.
void Schemes::inheritParts(SchemeCall &call) {
  auto inherit = [&](const std::string &axis, const std::string &callers) {
    const Axis *own = call.own.axis(axis);
    if (const Part *part = typer.positions.partOf(callers); part && own && own->size == part->extent)
      call.own.parts.insert({axis, *part});
  };
  for (const auto &[axis, namings] : call.back)
    for (const Naming &naming : namings)
      if (naming.size() == 1)
        inherit(axis, naming[0].name);
  for (const auto &[axis, callers] : call.hidden)
    inherit(axis, callers);
}

/// Returns the result as the signature describes it: `-> [b, h, i, j]` names dimensions that have no name or are
/// products of axes, and orders the dimensions of a tensor that is joined by name.
Value Schemes::withSignature(SchemeCall &call, Value result) {
  const Scheme &scheme = call.scheme;
  if (scheme.resultText.empty() || !result.good())
    return result;
  Node place{NodeKind::Name, scheme.resultText, scheme.resultText, 0, 0, false, {}, {}};
  result = typer.arithmetic.toTensor(place, result);
  if (!result.good())
    return {};
  auto refuse = [&](const std::string &found) {
    return error(scheme.resultText, "the result of scheme '" + scheme.name.str() + "' is " + found);
  };
  if (!result.is(ValueKind::Tensor) || result.dimensions.size() != scheme.resultAxes.size())
    return refuse(describe(result));
  std::vector<std::string> names;
  for (StringRef name : scheme.resultAxes)
    names.push_back(name.str());
  if (auto places = result.order.isWritten ? std::nullopt : placesOf(result.dimensions, names))
    result = typer.moves.arranged(place, std::move(result), *places);
  if (!result.good() || !typer.moves.requireOrder(scheme.resultText, result, "the result"))
    return {};
  for (size_t d = 0; d < scheme.resultAxes.size(); ++d) {
    Dimension &dimension = result.dimensions[d];
    Axis axis{scheme.resultAxes[d].str(), dimension.size, dimension.runtime};
    if (haveSameName(dimension.namings, {Naming{axis}}))
      continue;
    const Axis *known = call.own.axis(axis.name);
    bool isAnother = known && (known->size != axis.size || known->runtime != axis.runtime);
    if (isAnother || any_of(dimension.namings, [](const Naming &naming) { return naming.size() == 1; }))
      return refuse("[" + describeAxes(result.dimensions) + "], " + describe(result.dimensions));
    dimension.namings = {{axis}};
  }
  return result;
}

/// Returns the result under the caller's names. Dimensions that the scheme creates keep the names of its signature, or
/// have none.
Value Schemes::broughtOut(SchemeCall &call, Value result) {
  if (!result.good())
    return result;
  const Scheme &scheme = call.scheme;
  AxisRenaming out;
  forEachAxis(result, [&](const Axis &axis) {
    if (auto hidden = call.hidden.find(axis.name); hidden != call.hidden.end())
      return out.rename(axis.name, hidden->second);
    auto own = call.back.find(axis.name);
    bool isOperands = any_of(scheme.operands, [&](const SchemeOperand &operand) {
      return is_contained(operand.axes, axis.name);
    });
    bool isScore = axis.name == "i" || axis.name == "j";
    if (own != call.back.end() && !own->second.empty())
      out.replace(axis.name, own->second);
    else if (resolver.schemes.mentions(scheme, axis.name) &&
             (!is_contained(scheme.resultAxes, axis.name) || (isOperands && !isScore)))
      out.replace(axis.name, {});
  });
  std::set<std::string> lost;
  result = out(std::move(result), &lost);
  if (!lost.empty()) {
    error(call.node.text, "the result of scheme '" + scheme.name.str() + "' depends on the position along its axis '" +
                              *lost.begin() + "', which has no name here");
    diagnostics.note("name the dimensions of the arguments, x[b, n, d], or let the scheme give a tensor with named axes: "
                     "scheme " +
                     scheme.name.str() + "(…) -> [" + *lost.begin() + ", …]");
    return {};
  }
  // If a caller's axis would name two dimensions, neither gets the name.
  std::map<std::string, size_t> count;
  for (const Dimension &dimension : result.dimensions)
    for (const Naming &naming : dimension.namings)
      ++count[print(naming)];
  for (Dimension &dimension : result.dimensions)
    erase_if(dimension.namings, [&](const Naming &naming) { return count[print(naming)] > 1; });
  return result;
}

} // namespace skewer::language
