// Calls of schemes: the body is evaluated at the call with the caller's tensors.
#include "dialect/Language/Emitter.h"

using namespace llvm;

namespace skewer::language {

static std::string usageOf(const Scheme &scheme) {
  std::string usage = "usage: " + scheme.name.str() + "(";
  for (const SchemeOperand &operand : scheme.operands)
    usage += (&operand == &scheme.operands[0] ? "" : ", ") + operand.name.str();
  return usage + ")";
}

/// Whether a scheme may be called here at all, and has arguments of these names and so many.
bool Emitter::checkCall(const Node &call, const Scheme &scheme) {
  constexpr unsigned kMaximumDepth = 40; // a scheme that calls itself would never end
  if (schemeDepth >= kMaximumDepth)
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

/// The values of the scheme's operands: the call's, or its own where the call says nothing.
bool Emitter::bindArguments(const Node &call, const Scheme &scheme, Scope &own) {
  for (size_t k = 0; k < scheme.operands.size(); ++k) {
    const SchemeOperand &operand = scheme.operands[k];
    const Node *argument = k < call.operands.size() ? call.operands[k].get() : nullptr;
    if (const Node *named = keyword(call, operand.name)) {
      if (argument)
        return error(named->text, "argument '" + operand.name.str() + "' is given twice"), false;
      argument = named;
    }
    if (argument) {
      if (operand.isTensor ? !bindTensor(operand, *argument, own)
                           : !bindOther(operand, evaluate(*argument), *argument, own))
        return false;
      continue;
    }
    if (!operand.defaultValue) {
      error(call.text, "scheme '" + scheme.name.str() + "' needs an argument '" + operand.name.str() + "'" +
                           (operand.pattern.empty() ? "" : ": " + operand.name.str() + " = (…)"));
      diagnostics.note(operand.name, "declared here; " + usageOf(scheme));
      return false;
    }
    Scope *outer = scope;
    scope = &own;
    Value value = evaluate(*operand.defaultValue);
    scope = outer;
    if (!value.good())
      return false;
    own.values[operand.name.str()] = value;
  }
  return true;
}

/// The score's axes: given at the call, else an operand's, else the caller's; the keys are as many as the queries if
/// nobody says otherwise.
bool Emitter::nameScoreAxes(const Node &call, Scope &own) {
  for (StringRef name : {"i", "j"}) {
    if (const Node *given = keyword(call, name); given && !own.values.count(name.str())) {
      auto size = evaluateWhole(*given, "the size of axis '" + name.str() + "'");
      if (!size)
        return false;
      if (*size < 1)
        return error(given->text, "axis '" + name.str() + "' has a size of at least 1, found " + std::to_string(*size)),
               false;
      const Axis *known = own.axis(name.str());
      if (known && known->size != *size)
        return error(given->text, "axis '" + name.str() + "' has size " + std::to_string(known->size) +
                                      " in the operands, but " + std::to_string(*size) + " here"),
               false;
      if (!known)
        own.axes.push_back({name.str(), *size, ""});
    } else if (!own.axis(name.str())) {
      if (const Axis *callers = findAxis(name.str()))
        own.axes.push_back(*callers);
      else if (const Axis *query = own.axis("i"); query && name == "j")
        own.axes.push_back({"j", query->size, query->runtime});
    }
  }
  for (const char *name : {"i", "j"})
    if (const Part *part = partOf(name))
      if (const Axis *axis = own.axis(name); axis && axis->size == part->extent)
        own.parts.insert({name, *part});
  return true;
}

Value Emitter::inlineScheme(const Node &call, const Scheme &scheme) {
  if (!checkCall(call, scheme))
    return {};
  Scope own;
  own.isBuiltin = builtinSchemes.count(&scheme) > 0;
  own.caller = scope;
  if (!bindArguments(call, scheme, own) || !nameScoreAxes(call, own))
    return {};
  Scope *outer = scope;
  scope = &own;
  ++schemeDepth;
  openSchemes.push_back(&scheme);
  diagnostics.enterCall(call.text, scheme.name);
  Value result;
  StringRef place;
  if (!emitBody(scheme.body, result, place, scheme.end))
    result = Value();
  diagnostics.leaveCall();
  --schemeDepth;
  openSchemes.pop_back();
  scope = outer;
  if (result.is(ValueKind::Tensor) && scope)
    rememberAxes(result.dimensions);
  return result;
}

bool Emitter::bindTensor(const SchemeOperand &operand, const Node &argument, Scope &own) {
  Value value = evaluate(argument);
  if (value.is(ValueKind::Index) || value.is(ValueKind::Real))
    value = toTensor(argument, value);
  if (!value.good())
    return false;
  std::string axes;
  for (StringRef axis : operand.axes)
    axes += (axes.empty() ? "" : ", ") + axis.str();
  if ((!value.is(ValueKind::Tensor) && !value.is(ValueKind::Indices)) ||
      value.dimensions.size() != operand.axes.size()) {
    error(argument.text, "argument '" + operand.name.str() + "' is a tensor [" + axes + "], found " + describe(value));
    diagnostics.note(operand.name, "declared here");
    return false;
  }
  for (size_t d = 0; d < operand.axes.size(); ++d) {
    Dimension &dimension = value.dimensions[d];
    std::string name = operand.axes[d].str();
    const Axis *known = own.axis(name);
    if (known && (known->size != dimension.size || known->runtime != dimension.runtime)) {
      auto size = [](int64_t size, const std::string &runtime) {
        return runtime.empty() ? std::to_string(size) : runtime;
      };
      error(argument.text, "axis '" + name + "' of argument '" + operand.name.str() + "' has size " +
                               size(dimension.size, dimension.runtime) + ", but " + size(known->size, known->runtime) +
                               " in an argument before");
      diagnostics.note(operand.axes[d], "declared here");
      return false;
    }
    Axis axis{name, dimension.size, dimension.runtime};
    if (!known)
      own.axes.push_back(axis);
    // What the caller has named as a part of something is that part here.
    for (const Naming &naming : dimension.namings)
      if (const Part *part = naming.size() == 1 ? partOf(naming[0].name) : nullptr)
        if (dimension.size == part->extent)
          own.parts.insert({name, *part});
    dimension.namings = {{axis}};
  }
  value.byName = false;
  own.values[operand.name.str()] = value;
  return true;
}

bool Emitter::bindOther(const SchemeOperand &operand, Value value, const Node &place, Scope &own) {
  if (!value.good())
    return false;
  if (!operand.pattern.empty()) {
    if (!value.is(ValueKind::List) || value.items.size() != operand.pattern.size()) {
      error(place.text, "argument '" + operand.name.str() + "' is a list of " + std::to_string(operand.pattern.size()) +
                            ", found " + describe(value));
      diagnostics.note(operand.name, "declared here");
      return false;
    }
    for (size_t k = 0; k < operand.pattern.size(); ++k)
      own.values[operand.pattern[k].str()] = value.items[k];
  }
  own.values[operand.name.str()] = value;
  return true;
}

} // namespace skewer::language
