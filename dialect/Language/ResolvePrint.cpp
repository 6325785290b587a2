// Prints the resolved names of a file, for readers and tests: skewer … --emit=resolved.
#include "dialect/Language/Language.h"
#include "dialect/Language/Parser.h"
#include "dialect/Language/Resolved.h"
#include "dialect/Language/Resolver.h"

using namespace llvm;

namespace skewer::language {

void Resolver::print(raw_ostream &out) const {
  auto lineOf = [&](StringRef place) -> std::string {
    SMLoc at = SMLoc::getFromPointer(place.data());
    unsigned buffer = place.data() ? diagnostics.sources.FindBufferContainingLoc(at) : 0;
    if (buffer != diagnostics.sources.getMainFileID())
      return "";
    auto [line, column] = diagnostics.sources.getLineAndColumn(at, buffer);
    return std::to_string(line) + ":" + std::to_string(column);
  };
  for (size_t k = 0; k < bodies.size(); ++k) {
    out << bodies[k].kind << " " << bodies[k].name << "\n";
    size_t end = k + 1 < bodies.size() ? bodies[k + 1].first : order.size();
    for (size_t n = bodies[k].first; n < end; ++n) {
      const Symbol &symbol = symbols.find(order[n])->second;
      out << "  " << lineOf(order[n]->text) << "  " << order[n]->name << ": " << describe(symbol.kind);
      if (std::string declared = lineOf(symbol.declared); !declared.empty())
        out << ", " << (symbol.kind == SymbolKind::Axis ? "named" : "declared") << " at " << declared;
      out << "\n";
    }
  }
}

std::optional<std::string> resolvedNames(SourceMgr &sources, DiagnosticSink sink) {
  Diagnostics diagnostics(sources, std::move(sink));
  Program program;
  Parser(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(), diagnostics).program(program);
  std::vector<Program> builtins(builtinSchemes().size());
  Resolver resolver(diagnostics);
  for (auto [builtin, file] : zip(builtins, builtinSchemes())) {
    Parser(file.text, diagnostics).program(builtin);
    resolver.addBuiltins(builtin);
  }
  if (diagnostics.hasErrors())
    return std::nullopt;
  resolver.resolve(program);
  std::string text;
  raw_string_ostream out(text);
  resolver.print(out);
  return diagnostics.hasErrors() ? std::nullopt : std::optional(text);
}

} // namespace skewer::language
