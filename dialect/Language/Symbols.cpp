// The reserved words of the language, and the names of symbol kinds in messages.
#include "dialect/Language/Symbols.h"
#include "dialect/Language/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace llvm;

namespace skewer::language {

StringRef describe(SymbolKind kind) {
  static const std::map<SymbolKind, StringLiteral> names = {{SymbolKind::Unknown, "unknown"},
                                                            {SymbolKind::Param, "a param"},
                                                            {SymbolKind::Length, "a size"},
                                                            {SymbolKind::Size, "a size"},
                                                            {SymbolKind::Operand, "an operand"},
                                                            {SymbolKind::Argument, "an argument"},
                                                            {SymbolKind::Local, "a value"},
                                                            {SymbolKind::Axis, "an axis"},
                                                            {SymbolKind::Either, "an axis and a value"},
                                                            {SymbolKind::Contested, "an axis and a value"},
                                                            {SymbolKind::Scheme, "a scheme"},
                                                            {SymbolKind::Builtin, "a built-in scheme"},
                                                            {SymbolKind::Function, "a function"}};
  return names.at(kind);
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
