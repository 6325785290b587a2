// Resolution of declarations and statements: declares their names in order.
#include "dialect/Language/Resolver.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

const Symbol *Resolver::symbolOf(const Node &node) const {
  auto found = symbols.find(&node);
  return found == symbols.end() ? nullptr : &found->second;
}

void Resolver::record(const Node &node, Symbol symbol) {
  if (symbols.insert({&node, symbol}).second)
    order.push_back(&node);
}

/// Reports an error if the word is reserved.
void Resolver::checkWord(StringRef word) {
  if (isReserved(word))
    diagnostics.error(word, "'" + word.str() + "' is a word of the language and names nothing else");
}

void Resolver::declare(StringRef name, SymbolKind kind) {
  checkWord(name);
  names->values[name.str()] = {kind, name};
}

void Resolver::nameAxis(StringRef axis) { names->axes.insert({axis.str(), axis}); }

void Resolver::addBuiltins(const Program &builtin) {
  for (const Scheme &scheme : builtin.schemes) {
    builtins.insert({scheme.name.str(), &scheme});
    schemes.insert({scheme.name.str(), &scheme});
    builtinSchemes.insert(&scheme);
  }
}

void Resolver::declareGlobals(const Program &program) {
  names = &globals;
  for (const ParamDeclaration &param : program.params)
    declare(param.name, SymbolKind::Param);
  for (const LengthDeclaration &length : program.lengths)
    declare(length.name, SymbolKind::Length);
  for (StringRef size : program.sizes)
    declare(size, SymbolKind::Size);
  names = nullptr;
  for (const Scheme &scheme : program.schemes) {
    checkWord(scheme.name);
    schemes[scheme.name.str()] = &scheme;
  }
}

void Resolver::resolve(const Program &program) {
  declareGlobals(program);
  for (const Scheme &scheme : program.schemes)
    resolve(scheme);
  for (const Kernel &kernel : program.kernels)
    resolveKernel(kernel);
}

void Resolver::resolveKernel(const Kernel &kernel) {
  Names own = globals;
  names = &own;
  bodies.push_back({"kernel", kernel.name, order.size()});
  for (const KernelOperand &operand : kernel.operands)
    declare(operand.name, SymbolKind::Operand);
  nameAxesOf(kernel.body);
  resolveBody(kernel.body);
  names = nullptr;
}

bool Resolver::takesFromCaller(const Scheme &scheme, StringRef axis) {
  for (const SchemeOperand &operand : scheme.operands)
    if (operand.name == axis || is_contained(operand.pattern, axis))
      return false;
  return none_of(scheme.body, [&](const Statement &one) { return is_contained(one.targets, axis); });
}

void Resolver::resolve(const Scheme &scheme) {
  if (!resolved.insert(&scheme).second)
    return;
  Names own = isBuiltin(scheme) ? Names() : globals;
  own.isBuiltin = isBuiltin(scheme);
  Names *outer = std::exchange(names, &own);
  if (!own.isBuiltin)
    bodies.push_back({"scheme", scheme.name, order.size()});
  std::map<std::string, StringRef> declared;
  auto argument = [&](StringRef name, bool isPart) {
    auto [entry, fresh] = declared.insert({name.str(), name});
    if (!fresh && isPart) { // the parser has reported two operands of one name
      diagnostics.error(name, "operand '" + name.str() + "' is declared twice");
      diagnostics.note(entry->second, "the first time here");
    }
    declare(name, SymbolKind::Argument);
  };
  for (const SchemeOperand &operand : scheme.operands)
    declared.insert({operand.name.str(), operand.name});
  for (const SchemeOperand &operand : scheme.operands)
    for (StringRef axis : operand.axes) {
      checkWord(axis);
      nameAxis(axis);
    }
  for (StringRef axis : {"i", "j"})
    if (takesFromCaller(scheme, axis))
      own.axes.insert({axis.str(), scheme.name});
  nameAxesOf(scheme.body);
  for (const SchemeOperand &operand : scheme.operands) {
    if (operand.defaultValue)
      visit(*operand.defaultValue, Place::Expression);
    argument(operand.name, /*isPart=*/false);
    for (StringRef part : operand.pattern)
      argument(part, /*isPart=*/true);
  }
  for (StringRef axis : scheme.resultAxes)
    checkWord(axis);
  resolveBody(scheme.body);
  names = outer;
}

void Resolver::resolveBody(const std::vector<Statement> &body) {
  for (const Statement &statement : body) {
    if (diagnostics.exhausted())
      return;
    if (!statement.isBroken && statement.value) {
      if (statement.isPart || statement.isRequirement) {
        if (statement.extent)
          visit(*statement.extent, Place::Number);
        visit(*statement.value, Place::Number);
      } else {
        visitStatement(*statement.value);
      }
    }
    for (StringRef target : statement.targets)
      if (!statement.isPart)
        declare(target, SymbolKind::Local);
      else
        checkWord(target);
  }
}

bool Resolver::mentions(const Scheme &scheme, StringRef word) {
  auto [entry, fresh] = words.insert({&scheme, {}});
  if (fresh) {
    auto isWord = [](char c) { return isAlnum(c) || c == '_'; };
    StringRef text(scheme.name.data(), scheme.end.end() - scheme.name.data());
    while (!(text = text.drop_until(isWord)).empty()) {
      StringRef one = text.take_while(isWord);
      text = text.drop_front(one.size());
      entry->second.insert(one.str());
    }
    entry->second.insert({"i", "j"});
  }
  return entry->second.count(word.str()) > 0;
}

const Scheme *Resolver::schemeOf(const Node &call) const {
  const Schemes &known = schemesFor(names && names->isBuiltin);
  auto found = known.find(call.name.str());
  return found == known.end() ? nullptr : found->second;
}

} // namespace skewer::language
