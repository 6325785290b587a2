// The declarations of a file, types, and the statements of a body.
#include "dialect/Language/Typer.h"
#include "dialect/Subscript/Arithmetic.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

/// Returns whether the expression uses a name that the statement defines.
static bool isMadeOf(const Node &node, const Statement &statement) {
  if (node.kind == NodeKind::Name && is_contained(statement.targets, node.name))
    return true;
  return any_of(node.operands, [&](const NodePtr &operand) { return operand && isMadeOf(*operand, statement); }) ||
         any_of(node.keywords, [&](const Keyword &keyword) { return isMadeOf(*keyword.value, statement); });
}

/// Returns the statements in the order of typing. A part of an axis applies to the whole body, so parts come first, or
/// right after the last statement that defines a number needed for the part.
static std::vector<const Statement *> inOrderOfTyping(const std::vector<Statement> &body) {
  std::vector<const Statement *> order;
  for (const Statement &statement : body) {
    size_t at = order.size();
    bool isMovable = statement.isPart && !statement.isBroken &&
                     none_of(order, [](const Statement *before) { // a return: the statements after it are never reached
                       return before->targets.empty() && !before->isRequirement && !before->isBroken;
                     });
    auto needs = [&](const Statement &before) {
      return before.isPart || before.isBroken || isMadeOf(*statement.value, before) ||
             (statement.extent && isMadeOf(*statement.extent, before));
    };
    while (isMovable && at > 0 && !needs(*order[at - 1]))
      --at;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), &statement);
  }
  return order;
}

/// Collects the numbers that a condition names, for a message: "c = 7, rows = 4".
static void numbersOf(const Node &node, llvm::function_ref<const Value *(const std::string &)> lookup,
                      std::map<std::string, std::string> &found) {
  if (node.kind == NodeKind::Name)
    if (const Value *value = lookup(node.name.str()); value && value->is(ValueKind::Number))
      found[node.name.str()] = describe(*value).substr(std::string("the number ").size());
  if (node.kind == NodeKind::Call && node.name == "len")
    return;
  for (const NodePtr &operand : node.operands)
    numbersOf(*operand, lookup, found);
}

void KernelTyper::declare(const Program &program) {
  auto declareOnce = [&](StringRef name) {
    auto [entry, fresh] = state.globals.declared.insert({name.str(), name});
    if (!fresh) {
      diagnostics.error(name, "'" + name.str() + "' is declared twice");
      diagnostics.note(entry->second, "the first time here");
    }
    return fresh;
  };
  scope = &state.globals;
  std::vector<std::string> names;
  for (const ParamDeclaration &param : program.params) {
    names.push_back(param.name.str());
    if (!declareOnce(param.name))
      continue;
    auto given = options.parameters.find(param.name.str());
    if (given != options.parameters.end()) {
      const Parameter &value = given->second;
      state.globals.values[param.name.str()] =
          value.isWhole() ? Value::whole(value.integer()) : Value::real(value.number());
    } else if (param.isBroken) {
      state.globals.values[param.name.str()] = Value();
    } else if (param.value) {
      Value value = evaluate(*param.value);
      if (value.good() && !value.is(ValueKind::Number))
        value = error(param.value->text, "a param is a number, found " + describe(value));
      state.globals.values[param.name.str()] = value;
    } else {
      diagnostics.error(param.name,
                        "param '" + param.name.str() + "' has no value; give it with -D " + param.name.str() + "=…");
      state.globals.values[param.name.str()] = Value();
    }
  }
  for (const LengthDeclaration &length : program.lengths)
    if (declareOnce(length.name))
      declareLength(length);
  for (const auto &[name, value] : options.parameters)
    if (auto size = llvm::find(program.sizes, name); size != program.sizes.end()) {
      diagnostics.error(*size,
                        "'" + name + "' is a run-time size, not a param: -D cannot give it the value " + value.text());
      diagnostics.note("give it when the kernel runs: skewer run … --size " + name + "=" + value.text());
    } else if (!state.globals.declared.count(name)) {
      diagnostics.error({}, "there is no param '" + name + "' to give the value " + value.text() + " to" +
                                suggestion(name, names));
      if (suggestion(name, names).empty())
        diagnostics.note(names.empty() ? "the spec has no params" : "its params are " + llvm::join(names, ", "));
    }
  for (StringRef size : program.sizes)
    if (declareOnce(size)) {
      Value value;
      value.kind = ValueKind::Size;
      value.name = size.str();
      state.globals.values[size.str()] = value;
      state.runtimeSizes.push_back(size.str());
    }
  std::map<std::string, StringRef> own;
  for (const Scheme &scheme : program.schemes) {
    auto [entry, fresh] = own.insert({scheme.name.str(), scheme.name});
    if (!fresh) {
      diagnostics.error(scheme.name, "scheme '" + scheme.name.str() + "' is defined twice");
      diagnostics.note(entry->second, "the first time here");
    }
  }
  std::map<std::string, StringRef> kernels;
  for (const Kernel &kernel : program.kernels) {
    auto [entry, fresh] = kernels.insert({kernel.name.str(), kernel.name});
    if (!fresh) {
      diagnostics.error(kernel.name, "kernel '" + kernel.name.str() + "' is defined twice");
      diagnostics.note(entry->second, "the first time here");
    }
  }
  scope = nullptr;
}

/// Declares a length as a number: the wanted length, else its bound. A param of the command line overrides it.
void KernelTyper::declareLength(const LengthDeclaration &length) {
  constexpr int64_t kLongest = 1 << 20;
  std::string name = length.name.str();
  Value &value = state.globals.values[name];
  auto bound = typer.expressions.evaluateWhole(*length.bound, "the bound of a length");
  if (!bound)
    return;
  if (*bound < 1 || *bound > kLongest) {
    diagnostics.error(length.bound->text, "the bound of a length is from 1 to 2^20, found " + std::to_string(*bound));
    return;
  }
  if (auto given = options.parameters.find(name); given != options.parameters.end()) {
    const Parameter &chosen = given->second;
    if (!chosen.isWhole() || chosen.integer() < 1 || chosen.integer() > *bound)
      diagnostics.error(length.name, "-D " + name + "=" + chosen.text() + ": expected " +
                                         (chosen.isWhole() ? "" : "a whole number from ") + "1 to " +
                                         std::to_string(*bound) + ", the bound of the length");
    value = Value::whole(chosen.isWhole() ? chosen.integer() : *bound);
    return;
  }
  auto wanted = options.lengths.find(name);
  value = Value::whole(wanted == options.lengths.end() ? *bound : wanted->second);
  value.function = makeReal(value.number, true, length.bound.get());
  state.lengths.emplace_back(name, *bound);
}

bool KernelTyper::shape(const TypeExpression &type, Dimensions &dimensions) {
  constexpr int64_t kMaximumElements = int64_t(1) << 46;
  bool fixedSeen = false;
  int64_t elements = 1;
  for (const NodePtr &node : type.sizes) {
    Value value = evaluate(*node);
    if (!value.good())
      return false;
    Dimension dimension;
    if (value.is(ValueKind::Size)) {
      if (fixedSeen) {
        error(node->text, "the run-time size '" + value.name + "' must come before the sizes known at compile time");
        diagnostics.note("a run-time size that may stand anywhere is a length, which has a bound: size " + value.name +
                         " <= 4096");
        return false;
      }
      dimension.size = subscript::kRuntime;
      dimension.runtime = value.name;
    } else if (!value.isWhole()) {
      std::string what = value.is(ValueKind::Number)
                             ? "a size is a whole number, found " + describe(value) + "; '//' divides rounding down"
                             : "a size is a whole number, found " + describe(value);
      return error(node->text, what), false;
    } else if (value.integer < 1) {
      return error(node->text,
                   "a size is at least 1, but " + node->text.str() + " is " + std::to_string(value.integer)),
             false;
    } else {
      fixedSeen = true;
      dimension.size = value.integer;
      auto product = subscript::checkedMultiply(elements, value.integer);
      elements = product.value_or(INT64_MAX);
      if (elements > kMaximumElements)
        return error(node->text, "the tensor has more than 2^46 elements"), false;
    }
    dimensions.push_back(std::move(dimension));
  }
  return true;
}

bool KernelTyper::typeBody(const std::vector<Statement> &statements, Value &result, StringRef &place, StringRef end) {
  bool good = true;
  const std::vector<const Statement *> body = inOrderOfTyping(statements);
  for (size_t k = 0; k < body.size() && !diagnostics.exhausted(); ++k) {
    const Statement &statement = *body[k];
    if (statement.isBroken) {
      for (StringRef name : statement.targets) {
        scope->declared.insert({name.str(), name});
        scope->values.insert({name.str(), Value()});
      }
      good = false;
      continue;
    }
    if (statement.isPart) {
      good &= typer.positions.declarePart(statement);
      if (!good)
        return false;
      continue;
    }
    if (statement.isRequirement) {
      good &= checkRequirement(statement);
      if (!good)
        return false;
      continue;
    }
    Value value = evaluate(*statement.value);
    if (!statement.targets.empty()) {
      good &= assign(statement, std::move(value));
      continue;
    }
    if (k + 1 < body.size())
      diagnostics.error(body[k + 1]->value->text, "a statement after 'return' is never reached");
    result = std::move(value);
    place = statement.value->text;
    return good && result.good();
  }
  if (good && !diagnostics.hasErrors())
    error(end, "expected 'return' before the end of the block");
  return false;
}

bool KernelTyper::checkRequirement(const Statement &statement) {
  Value value = evaluate(*statement.value);
  if (!value.good())
    return false;
  if (!value.is(ValueKind::Number))
    return error(statement.value->text,
                 "'require' takes a condition on numbers known at compile time, found " + describe(value)),
           false;
  if (value.number != 0)
    return true;
  std::map<std::string, std::string> numbers;
  numbersOf(
      *statement.value, [&](const std::string &name) { return typer.names.lookup(name); }, numbers);
  std::string list;
  for (const auto &[name, text] : numbers)
    list += (list.empty() ? ", with " : ", ") + name + " = " + text;
  diagnostics.errorOfCall(statement.value->text, statement.message.str());
  diagnostics.note(statement.value->text, "required here" + list);
  return false;
}

/// Gives the value's tensor the name that the kernel's text gives it, with its current element type.
void KernelTyper::nameAt(StringRef name, const Value &value) {
  if (!value.is(ValueKind::Tensor) || state.schemeDepth > 0)
    return;
  kernel.names.push_back({name, value.tensor, value.dimensions});
  if (value.tensor->name.empty() && !value.tensor->as<typed::Argument>())
    value.tensor->name = name, value.tensor->namedElement = value.tensor->element;
}

bool KernelTyper::assign(const Statement &statement, Value value) {
  std::vector<Value> parts;
  if (!statement.destructures) {
    parts.push_back(value);
  } else {
    if (value.good())
      parts = typer.moves.takenApart(*statement.value, value, statement.targets.size());
    if (parts.empty())
      value = Value();
    parts.resize(statement.targets.size());
  }
  for (size_t k = 0; k < statement.targets.size(); ++k) {
    StringRef name = statement.targets[k];
    auto [entry, fresh] = scope->declared.insert({name.str(), name});
    if (!fresh) {
      error(name, "'" + name.str() + "' has a value already; give the new one another name");
      diagnostics.note(entry->second, "declared here");
      return false;
    }
    if (!scope->isBuiltin && state.globals.values.count(name.str())) {
      error(name, "'" + name.str() + "' is already a param or a size");
      diagnostics.note(state.globals.declared[name.str()], "declared here");
    }
    nameAt(name, parts[k]);
    scope->values[name.str()] = parts[k];
  }
  return value.good();
}

} // namespace skewer::language
