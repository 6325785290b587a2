// The reserved words of the language, and the names of symbol kinds in messages.
#include "dialect/Language/Symbols.h"
#include "dialect/Language/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace skewer::language {

StringRef describe(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Unknown:
    return "unknown";
  case SymbolKind::Param:
    return "a param";
  case SymbolKind::Length:
  case SymbolKind::Size:
    return "a size";
  case SymbolKind::Operand:
    return "an operand";
  case SymbolKind::Argument:
    return "an argument";
  case SymbolKind::Local:
    return "a value";
  case SymbolKind::Axis:
    return "an axis";
  case SymbolKind::Either:
  case SymbolKind::Contested:
    return "an axis and a value";
  case SymbolKind::Scheme:
    return "a scheme";
  case SymbolKind::Builtin:
    return "a built-in scheme";
  case SymbolKind::Function:
    return "a function";
  }
  return "";
}

bool isReserved(StringRef word) {
  static const StringSet<> words = {"and",  "or",    "not",  "mod",    "floordiv", "if",     "else",   "where",
                                    "inf",  "None",  "param", "size",  "kernel",   "scheme", "return", "require"};
  return words.contains(word);
}

bool refusesReserved(StringRef word, Diagnostics &diagnostics) {
  if (!isReserved(word))
    return false;
  diagnostics.error(word, "'" + word.str() + "' is a word of the language and names nothing else");
  return true;
}

} // namespace skewer::language
