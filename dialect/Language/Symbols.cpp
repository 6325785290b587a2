// The reserved words of the language, and the names of symbol kinds in messages.
#include "dialect/Language/Symbols.h"
#include "dialect/Language/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include <iterator>

using namespace llvm;

namespace skewer::language {

StringRef describe(SymbolKind kind) {
  // In the order of SymbolKind.
  static constexpr StringLiteral names[] = {"unknown",
                                            "a param",
                                            "a size",
                                            "a size",
                                            "an operand",
                                            "an argument",
                                            "a value",
                                            "an axis",
                                            "an axis and a value",
                                            "an axis and a value",
                                            "a scheme",
                                            "a built-in scheme",
                                            "a function"};
  static_assert(std::size(names) == static_cast<size_t>(SymbolKind::Function) + 1);
  return names[static_cast<size_t>(kind)];
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
