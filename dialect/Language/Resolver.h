// The resolver: maps names to symbols, between parsing and evaluation. It walks each kernel once, and each scheme once
// where it is declared. The meaning of a name is decided there, independent of the callers of a scheme and of the axis
// names of tensors.
#pragma once
#include "dialect/Language/BodyNames.h"
#include "dialect/Language/SymbolTable.h"
#include "dialect/Language/TextTable.h"

namespace skewer::language {

class Resolver {
public:
  explicit Resolver(Diagnostics &diagnostics) : texts(schemes, diagnostics), diagnostics(diagnostics) {}
  Resolver(const Resolver &) = delete;
  /// Resolves the declarations, kernels and schemes of the file. Reports errors about their names.
  void resolve(const Program &);
  /// Resolves a scheme once. Built-in schemes are resolved only when something calls them.
  void resolve(const Scheme &);

  KnownSchemes schemes;
  SymbolTable symbols;
  TextTable texts;

private:
  void resolve(const Kernel &);
  void declareGlobals(const Program &);

  Diagnostics &diagnostics;
  BodyNames globals;
  std::set<const Scheme *> resolved;
};

} // namespace skewer::language
