// Resolution of declarations: declares their names in order, and resolves the bodies of kernels and schemes.
#include "dialect/Language/Resolver.h"
#include "dialect/Language/BodyResolver.h"
#include "dialect/Language/NameAxes.h"

using namespace llvm;

namespace skewer::language {

void Resolver::declareGlobals(const Program &program) {
  for (const ParamDeclaration &param : program.params)
    globals.declare(param.name, SymbolKind::Param, diagnostics);
  for (const LengthDeclaration &length : program.lengths)
    globals.declare(length.name, SymbolKind::Length, diagnostics);
  for (StringRef size : program.sizes)
    globals.declare(size, SymbolKind::Size, diagnostics);
  for (const Scheme &scheme : program.schemes) {
    refusesReserved(scheme.name, diagnostics);
    schemes.add(scheme);
  }
}

void Resolver::resolve(const Program &program) {
  declareGlobals(program);
  for (const Scheme &scheme : program.schemes)
    resolve(scheme);
  for (const Kernel &kernel : program.kernels)
    resolve(kernel);
}

void Resolver::resolve(const Kernel &kernel) {
  BodyNames names = globals;
  symbols.beginBody("kernel", kernel.name);
  for (const KernelOperand &operand : kernel.operands)
    names.declare(operand.name, SymbolKind::Operand, diagnostics);
  nameAxesOf(kernel.body, schemes, texts, names);
  BodyResolver(schemes, texts, symbols, diagnostics, names).resolve(kernel.body);
}

void Resolver::resolve(const Scheme &scheme) {
  if (!resolved.insert(&scheme).second)
    return;
  bool isBuiltin = schemes.isBuiltin(scheme);
  BodyNames names = isBuiltin ? BodyNames() : globals;
  names.isBuiltin = isBuiltin;
  if (!isBuiltin)
    symbols.beginBody("scheme", scheme.name);
  std::map<std::string, StringRef> declared;
  auto argument = [&](StringRef name, bool isPart) {
    auto [entry, fresh] = declared.insert({name.str(), name});
    if (!fresh && isPart) { // the parser has reported two operands of one name
      diagnostics.error(name, "operand '" + name.str() + "' is declared twice");
      diagnostics.note(entry->second, "the first time here");
    }
    names.declare(name, SymbolKind::Argument, diagnostics);
  };
  for (const SchemeOperand &operand : scheme.operands)
    declared.insert({operand.name.str(), operand.name});
  for (const SchemeOperand &operand : scheme.operands)
    for (StringRef axis : operand.axes) {
      refusesReserved(axis, diagnostics);
      names.nameAxis(axis);
    }
  for (StringRef axis : {"i", "j"})
    if (takesFromCaller(scheme, axis))
      names.nameAxis(axis, scheme.name);
  nameAxesOf(scheme.body, schemes, texts, names);
  BodyResolver body(schemes, texts, symbols, diagnostics, names);
  for (const SchemeOperand &operand : scheme.operands) {
    if (operand.defaultValue)
      body.visit(*operand.defaultValue, BodyResolver::Place::Expression);
    argument(operand.name, /*isPart=*/false);
    for (StringRef part : operand.pattern)
      argument(part, /*isPart=*/true);
  }
  for (StringRef axis : scheme.resultAxes)
    refusesReserved(axis, diagnostics);
  body.resolve(scheme.body);
}

} // namespace skewer::language
