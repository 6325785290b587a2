// Records and prints the meanings of names.
#include "dialect/Language/SymbolTable.h"

using namespace llvm;

namespace skewer::language {

const Symbol *SymbolTable::of(const Node &node) const {
  auto found = symbols.find(&node);
  return found == symbols.end() ? nullptr : &found->second;
}

void SymbolTable::record(const Node &node, Symbol symbol) {
  if (symbols.insert({&node, symbol}).second)
    order.push_back(&node);
}

void SymbolTable::print(raw_ostream &out, const SourceMgr &sources) const {
  auto lineOf = [&](StringRef place) -> std::string {
    SMLoc at = SMLoc::getFromPointer(place.data());
    unsigned buffer = place.data() ? sources.FindBufferContainingLoc(at) : 0;
    if (buffer != sources.getMainFileID())
      return "";
    auto [line, column] = sources.getLineAndColumn(at, buffer);
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

} // namespace skewer::language
