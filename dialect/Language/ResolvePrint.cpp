// Prints the resolved names of a file, for readers and tests: skewer … --emit=resolved.
#include "dialect/Language/Language.h"
#include "dialect/Language/Parser.h"
#include "dialect/Language/Resolved.h"
#include "dialect/Language/Resolver.h"

using namespace llvm;

namespace skewer::language {

std::optional<std::string> resolvedNames(SourceMgr &sources, DiagnosticSink sink) {
  Diagnostics diagnostics(sources, std::move(sink));
  Program program;
  Parser(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(), diagnostics).program(program);
  std::vector<Program> builtins(builtinSchemes().size());
  Resolver resolver(diagnostics);
  for (auto [builtin, file] : zip(builtins, builtinSchemes())) {
    Parser(file.text, diagnostics).program(builtin);
    resolver.schemes.addBuiltins(builtin);
  }
  if (diagnostics.hasErrors())
    return std::nullopt;
  resolver.resolve(program);
  std::string text;
  raw_string_ostream out(text);
  resolver.symbols.print(out, sources);
  return diagnostics.hasErrors() ? std::nullopt : std::optional(text);
}

} // namespace skewer::language
