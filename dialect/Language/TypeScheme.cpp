// Calls of schemes: the typer evaluates the body of the scheme at the call, with the caller's tensors.
#include "dialect/Language/SchemeCall.h"

using namespace llvm;

namespace skewer::language {

static std::string usageOf(const Scheme &scheme) {
  std::string usage = "usage: " + scheme.name.str() + "(";
  for (const SchemeOperand &operand : scheme.operands)
    usage += (&operand == &scheme.operands[0] ? "" : ", ") + operand.name.str();
  return usage + ")";
}

/// Checks that a scheme may be called here, and that the number and the names of the arguments fit.
bool Schemes::checkCall(const Node &call, const Scheme &scheme) {
  constexpr unsigned kMaximumDepth = 40; // stops a scheme that calls itself
  if (state.schemeDepth >= kMaximumDepth)
    return error(call.text, "schemes call each other more than " + std::to_string(kMaximumDepth) +
                                " levels deep; does '" + call.name.str() + "' call itself?"),
           false;
  if (auto open = llvm::find(openSchemes, &scheme); open != openSchemes.end()) {
    std::string path;
    for (; open != openSchemes.end(); ++open)
      path += (*open)->name.str() + " -> ";
    error(call.text,
          "scheme '" + scheme.name.str() + "' calls itself, which would never end: " + path + scheme.name.str());
    return false;
  }
  if (call.operands.size() > scheme.operands.size()) {
    error(call.text, "scheme '" + scheme.name.str() + "' takes " + std::to_string(scheme.operands.size()) +
                         " arguments, found " + std::to_string(call.operands.size()));
    diagnostics.note(scheme.name, usageOf(scheme));
    return false;
  }
  std::vector<std::string> names = {"i", "j"};
  for (const SchemeOperand &operand : scheme.operands)
    names.push_back(operand.name.str());
  for (const Keyword &k : call.keywords)
    if (!is_contained(names, k.name)) {
      error(k.name,
            "scheme '" + scheme.name.str() + "' has no argument '" + k.name.str() + "'" + suggestion(k.name, names));
      diagnostics.note(scheme.name, usageOf(scheme));
      return false;
    }
  return true;
}

/// Evaluates the arguments in the scope of the caller.
bool Schemes::evaluateArguments(SchemeCall &call) {
  for (size_t k = 0; k < call.scheme.operands.size(); ++k) {
    const SchemeOperand &operand = call.scheme.operands[k];
    const Node *argument = k < call.node.operands.size() ? call.node.operands[k].get() : nullptr;
    if (const Node *named = typer.expressions.keyword(call.node, operand.name)) {
      if (argument)
        return error(named->text, "argument '" + operand.name.str() + "' is given twice"), false;
      argument = named;
    }
    call.places.push_back(argument);
    Value &value = call.arguments.emplace_back();
    if (!argument) {
      if (operand.defaultValue)
        continue;
      error(call.node.text, "scheme '" + call.scheme.name.str() + "' needs an argument '" + operand.name.str() + "'" +
                                (operand.pattern.empty() ? "" : ": " + operand.name.str() + " = (…)"));
      diagnostics.note(operand.name, "declared here; " + usageOf(call.scheme));
      return false;
    }
    value = evaluate(*argument);
    if (operand.isTensor && (value.is(ValueKind::Index) || value.is(ValueKind::Real)))
      value = typer.arithmetic.toTensor(*argument, value);
    if (!value.good() || (operand.isTensor && !bindAxes(call, operand, value, *argument)))
      return false;
  }
  return true;
}

/// Binds the scheme's names to its arguments, after the names of their axes inside the scheme are decided.
bool Schemes::bindArguments(SchemeCall &call) {
  for (size_t k = 0; k < call.scheme.operands.size(); ++k) {
    const SchemeOperand &operand = call.scheme.operands[k];
    if (!call.places[k]) {
      Scope *outer = std::exchange(scope, &call.own);
      Value value = evaluate(*operand.defaultValue);
      scope = outer;
      if (!value.good())
        return false;
      call.own.values[operand.name.str()] = value;
    } else if (!operand.isTensor) {
      if (!bindOther(call, operand, call.in(std::move(call.arguments[k])), *call.places[k]))
        return false;
    } else {
      Value value = std::move(call.arguments[k]);
      for (size_t d = 0; d < operand.axes.size(); ++d)
        value.dimensions[d] = {value.dimensions[d].size, value.dimensions[d].runtime,
                               {{*call.own.axis(operand.axes[d].str())}}};
      value.order = {};
      call.own.values[operand.name.str()] = std::move(value);
    }
  }
  return true;
}

bool Schemes::bindOther(SchemeCall &call, const SchemeOperand &operand, Value value, const Node &place) {
  if (!operand.pattern.empty()) {
    size_t count = operand.pattern.size();
    if (!value.is(ValueKind::Tensor) && (!value.is(ValueKind::List) || value.items.size() != count)) {
      error(place.text, "argument '" + operand.name.str() + "' is a list of " + std::to_string(count) + ", found " +
                            describe(value));
      diagnostics.note(operand.name, "declared here");
      return false;
    }
    std::vector<Value> parts =
        typer.moves.takenApart(place, value, count); // takes a tensor apart along its first dimension
    if (parts.empty())
      return false;
    for (size_t k = 0; k < operand.pattern.size(); ++k)
      call.own.values[operand.pattern[k].str()] = parts[k];
  }
  call.own.values[operand.name.str()] = std::move(value);
  return true;
}

Value Schemes::inlineScheme(const Node &node, const Scheme &scheme) {
  if (!checkCall(node, scheme))
    return {};
  resolver.resolve(scheme);
  SchemeCall call{node, scheme};
  call.own.isBuiltin = resolver.schemes.isBuiltin(scheme);
  call.own.caller = scope;
  if (!evaluateArguments(call))
    return {};
  settleNames(call);
  if (!nameScoreAxis(call, "i") || !nameScoreAxis(call, "j"))
    return {};
  hideAxes(call);
  inheritParts(call);
  if (!bindArguments(call))
    return {};
  Scope *outer = std::exchange(scope, &call.own);
  ++state.schemeDepth;
  openSchemes.push_back(&scheme);
  state.callPath.push_back(&node);
  typer.sizes.expectOfScheme(node, scheme);
  diagnostics.enterCall(node.text, scheme.name);
  Value result;
  StringRef place;
  if (typer.kernels.typeBody(scheme.body, result, place, scheme.end))
    result = withSignature(call, std::move(result));
  else
    result = Value();
  diagnostics.leaveCall();
  --state.schemeDepth;
  openSchemes.pop_back();
  state.callPath.pop_back();
  scope = outer;
  typer.sizes.returnAxes(node.text, call.own);
  for (const std::string &axis : call.own.inherited)
    if (const Axis *own = call.own.axis(axis); own && call.back[axis].empty())
      call.back[axis] = {{*own}};
  result = broughtOut(call, std::move(result));
  if (result.is(ValueKind::Tensor) && scope)
    typer.sizes.rememberAxes(result.dimensions);
  return result;
}

} // namespace skewer::language
