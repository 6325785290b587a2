// Takes tokens one by one, and reports those that nobody expects.
#include "dialect/Language/TokenStream.h"
#include "dialect/Language/Habits.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

void TokenStream::advance() {
  before = token.text;
  slashes = next.newlineBefore ? StringRef() : at("//") ? token.text : slashes;
  token = next;
  next = lexer.next();
}

bool TokenStream::take(StringRef symbol) {
  if (!at(symbol))
    return false;
  advance();
  return true;
}

std::string TokenStream::found() const {
  if (atEnd())
    return "the end of the file";
  return "'" + token.text.take_front(40).str() + (token.text.size() > 40 ? "…'" : "'");
}

bool TokenStream::fail(const std::string &expected) {
  if (token.kind == TokenKind::Bad) // the lexer has already reported it
    return false;
  bool isProse = !before.empty() && isAlnum(before.back()) && atName();
  if (isAfterSlashes() && isProse) {
    diagnostics.error(slashes, "'//' divides rounding down, and what follows it is no expression");
    diagnostics.note("a comment begins with '#'");
    return false;
  }
  diagnostics.error(token.text, "expected " + expected + ", found " + found());
  explainFound();
  return false;
}

/// Adds a note on what the current token means in other languages.
void TokenStream::explainFound() {
  if (at("//") || (at("/") && next.is("*")) || isAfterSlashes())
    return diagnostics.note("a comment begins with '#'");
  if (at("=") || at("=="))
    return diagnostics.note("'=' gives a name its value, '==' compares");
  if (next.is("=") && token.kind == TokenKind::Symbol && !token.newlineBefore && !at(",") && !at(")"))
    return diagnostics.note("a name is given its value once, by '=' alone");
  StringRef instead = atName() ? insteadOfWord(token.text) : insteadOfOperator(token.text);
  if (!instead.empty())
    diagnostics.note(instead.str());
}

bool TokenStream::expect(StringRef symbol, StringRef after) {
  return take(symbol) || fail("'" + symbol.str() + "' after " + after.str());
}

bool TokenStream::expectName(StringRef &name, StringRef what) {
  static const StringRef reserved[] = {"param", "size", "kernel", "scheme", "return", "where",
                                       "and",   "or",   "not",    "if",     "else",   "inf"};
  bool isReserved = atName() && is_contained(reserved, token.text);
  if (isReserved && (next.is("=") || next.is(",") || next.is(":"))) {
    diagnostics.error(token.text, "'" + token.text.str() + "' is a word of the language and names nothing else");
    return false;
  }
  if (!atName() || isReserved)
    return fail(what.str());
  name = token.text;
  advance();
  return true;
}

} // namespace skewer::language
