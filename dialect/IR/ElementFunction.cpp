// The functions that plugins provide, by name, and the text form of arguments in terms.
#include "dialect/IR/ElementFunction.h"
#include "dialect/IR/BuiltinFunctions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace skewer::attn {

ElementFunction::~ElementFunction() = default;

ElementFunctions &ElementFunctions::of(AttnDialect *dialect) {
  return *dialect->getRegisteredInterface<ElementFunctions>();
}
bool ElementFunctions::add(std::unique_ptr<ElementFunction> function) {
  std::string name = function->name().str();
  return functions.emplace(std::move(name), std::move(function)).second;
}
const ElementFunction *ElementFunctions::find(StringRef name) const {
  auto found = functions.find(name.str());
  return found == functions.end() ? nullptr : found->second.get();
}
std::vector<std::string> ElementFunctions::names() const {
  std::vector<std::string> names;
  for (const auto &entry : functions)
    if (llvm::isAlpha(entry.first[0])) // other names belong to the language itself
      names.push_back(entry.first);
  return names;
}

const ElementFunction *findElementFunction(MLIRContext *context, StringRef name) {
  auto *dialect = context->getLoadedDialect<AttnDialect>();
  return dialect ? ElementFunctions::of(dialect).find(name) : nullptr;
}

std::string signatureOf(const ElementFunction &function) {
  std::vector<std::string> names;
  for (StringRef name : function.arguments())
    names.push_back(name.str());
  if (auto builtin = builtinText(function.name(), names))
    return *builtin;
  std::string text = function.name().str() + "(";
  return text + llvm::join(names, ", ") + ")";
}

std::string explainMissingFunction(MLIRContext *context, StringRef name) {
  std::string known;
  if (auto *dialect = context->getLoadedDialect<AttnDialect>())
    for (const std::string &one : ElementFunctions::of(dialect).names())
      known += (known.empty() ? "; known: " : ", ") + one;
  return "no plugin has brought the function '" + name.str() + "'" + known +
         "; load its plugin with --load-dialect-plugin=FILE";
}

bool Application::takes(size_t operand) const {
  return llvm::any_of(arguments,
                      [&](const Argument &argument) { return argument.operand == static_cast<int>(operand); });
}

std::string printArgument(const Application::Argument &argument) {
  return argument.operand >= 0 ? "#" + std::to_string(argument.operand) : subscript::print(argument.position);
}

std::optional<Application::Argument> parseArgument(StringRef text, size_t operands) {
  Application::Argument argument;
  if (text.consume_front("#")) {
    size_t operand;
    if (text.getAsInteger(10, operand) || operand >= operands)
      return std::nullopt;
    argument.operand = static_cast<int>(operand);
    return argument;
  }
  auto position = subscript::parse(std::string_view(text));
  if (!position)
    return std::nullopt;
  argument.position = *position;
  return argument;
}

std::optional<Application> applicationOf(TermOp op) {
  if (!op.getFunction())
    return std::nullopt;
  Application application;
  application.function = findElementFunction(op.getContext(), *op.getFunction());
  if (!application.function)
    return std::nullopt;
  for (Attribute attribute : op.getArgumentsAttr())
    if (auto argument = parseArgument(cast<StringAttr>(attribute).getValue(), op.getInputs().size()))
      application.arguments.push_back(*argument);
  return application;
}

} // namespace skewer::attn
