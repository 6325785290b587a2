// The lexer's rules: names, numbers, strings in single or double quotes, symbols; comments begin with #.
#include "dialect/Language/Lexer.h"
#include "dialect/Subscript/Characters.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

Token Lexer::take(TokenKind kind, size_t length) {
  Token token{kind, rest.take_front(length), newline};
  rest = rest.drop_front(length);
  newline = false;
  return token;
}

Lexer::Lexer(StringRef text, Diagnostics &diagnostics) : rest(text), diagnostics(diagnostics) {
  rest.consume_front("\xEF\xBB\xBF"); // a byte order mark, which Windows editors write first
}

/// Returns the length of a string whose opening quote, of `length` bytes, is typographic; it ends at a quote of the
/// same kind on its line.
static size_t typesetString(StringRef text, size_t length, std::string_view quote) {
  StringRef line = text.take_until([](char c) { return c == '\n'; });
  for (size_t at = length; at < line.size(); ++at)
    if (auto found = subscript::characterAt(line, at); found.plain == quote)
      return at + found.length;
  return length;
}

Token Lexer::next() {
  while (!rest.empty()) {
    char c = rest.front();
    if (c == '\n') {
      newline = true;
      slashes = false;
      rest = rest.drop_front();
    } else if (c == '#') {
      rest = rest.drop_until([](char c) { return c == '\n'; });
    } else if (c == ' ' || c == '\t' || c == '\r') {
      rest = rest.drop_front();
    } else {
      break;
    }
  }
  if (rest.empty())
    return take(TokenKind::End, 0);

  char c = rest.front();
  auto isWord = [](char c) { return isAlnum(c) || c == '_'; };
  if (isAlpha(c) || c == '_')
    return take(TokenKind::Name, rest.size() - rest.drop_while(isWord).size());

  if (isDigit(c) || (c == '.' && rest.size() > 1 && isDigit(rest[1]))) {
    size_t length = 0;
    while (length < rest.size() && !rest.drop_front(length).starts_with("..") && // the dots of a range, 0..31
           (isAlnum(rest[length]) || rest[length] == '.' || rest[length] == '_' ||
            ((rest[length] == '-' || rest[length] == '+') && isDigit(c) && toLower(rest[length - 1]) == 'e' &&
             length + 1 < rest.size() && isDigit(rest[length + 1]))))
      ++length;
    return take(TokenKind::Number, length);
  }

  if (c == '"' || c == '\'') {
    size_t length = 1;
    while (length < rest.size() && rest[length] != c && rest[length] != '\n')
      ++length;
    if (length < rest.size() && rest[length] == c)
      return take(TokenKind::String, length + 1);
    diagnostics.error(rest.take_front(1), "this string is never closed on its line");
    if (slashes) // the string is in a comment
      diagnostics.note("a comment begins with '#'; '//' divides rounding down");
    return take(TokenKind::Bad, length);
  }

  for (StringRef symbol : {"...", "..", "->", "<=", ">=", "==", "!=", "//", "**", "&&", "||", "<<", ">>"})
    if (rest.starts_with(symbol)) {
      slashes |= symbol == "//";
      return take(TokenKind::Symbol, symbol.size());
    }
  if (StringRef("(){}[],:;=+-*/%^<>!~&").contains(c))
    return take(TokenKind::Symbol, 1);
  // Operators of other languages become tokens, because the parser can tell what they mean where they stand.
  if (StringRef(".@|?").contains(c) && (rest.size() < 2 || rest[1] != c))
    return take(TokenKind::Symbol, 1);

  return takeBad();
}

/// Skips characters that begin no token; reports one error for each run of them, however long it is.
Token Lexer::takeBad() {
  subscript::Character found = subscript::characterAt(rest, 0);
  auto begins = [](char c) { return isAlnum(c) || isSpace(c) || StringRef("_\"'(){}[],:;=+-*/%^<>!~#").contains(c); };
  size_t length = std::max<size_t>(rest.size() - rest.drop_until(begins).size(), 1);
  StringRef written = rest.take_front(found.length);
  std::string advice = subscript::adviceOn(found);
  if (!found.isText) {
    diagnostics.error(rest.take_front(length), found.shown + " cannot be part of a specification; is it a text file?");
    return take(TokenKind::Bad, length);
  }
  if (isASCII(rest.front())) {
    diagnostics.error(rest.take_front(length), "unexpected character " + found.shown);
    return take(TokenKind::Bad, length);
  }
  if (advice.empty())
    advice = "; names are made of a to z, digits and '_'";
  else if (found.plain == "\"" || found.plain == "'")
    length = typesetString(rest, found.length, found.plain);
  else
    length = found.length;
  diagnostics.error(written, found.shown + " is not a character of the language" + advice);
  return take(TokenKind::Bad, length);
}

} // namespace skewer::language
