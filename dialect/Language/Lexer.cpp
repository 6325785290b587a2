// Text to tokens: names, numbers, strings in either kind of quotes, symbols; comments begin with #.
#include "dialect/Language/Lexer.h"
#include "dialect/Language/Habits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using namespace llvm;

namespace skewer::language {

Token Lexer::take(TokenKind kind, size_t length) {
  Token token{kind, rest.take_front(length), newline};
  rest = rest.drop_front(length);
  newline = false;
  return token;
}

/// How long the first character is, one of those that ASCII lacks; 0 where it is none, or is not seen.
static size_t firstLetterOf(StringRef bytes) {
  const auto *begin = bytes.bytes_begin();
  if (bytes.empty() || isASCII(bytes[0]) || !isLegalUTF8Sequence(begin, bytes.bytes_end()))
    return 0;
  size_t length = getNumBytesForUTF8(*begin);
  return sys::unicode::columnWidthUTF8(bytes.take_front(length)) > 0 ? length : 0;
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
    } else if (rest.starts_with("\xEF\xBB\xBF")) {
      rest = rest.drop_front(3); // a byte order mark
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
    while (length < rest.size() && !rest.drop_front(length).starts_with("..") && // of a range, 0..31
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
    if (slashes) // it's a comment
      diagnostics.note("a comment begins with '#'; '//' divides rounding down");
    return take(TokenKind::Bad, length);
  }

  for (StringRef symbol : {"...", "..", "->", "<=", ">=", "==", "!=", "//", "**", "&&", "||"})
    if (rest.starts_with(symbol)) {
      slashes |= symbol == "//";
      return take(TokenKind::Symbol, symbol.size());
    }
  if (StringRef("(){}[],:;=+-*/%^<>!~").contains(c))
    return take(TokenKind::Symbol, 1);
  // Operators of other languages: the parser knows what was meant where they stand.
  if (StringRef(".@&|?").contains(c) && (rest.size() < 2 || rest[1] != c))
    return take(TokenKind::Symbol, 1);

  size_t typeset = 0;
  if (StringRef plain = plainSpelling(rest, typeset); typeset) {
    StringRef written = rest.take_front(typeset);
    if (plain == "\"" || plain == "'") { // all of the string, whose other quote is of the same kind
      StringRef line = rest.take_until([](char c) { return c == '\n'; });
      size_t close = 0, length = 0;
      for (size_t at = typeset; at < line.size() && !close; ++at)
        if (plainSpelling(line.drop_front(at), length) == plain)
          close = at + length;
      typeset = close ? close : typeset;
    }
    diagnostics.error(written, "'" + written.str() + "' is not a character of the language; write " +
                                   (plain == " "                    ? "a space"
                                    : plain == "\"" || plain == "'" ? "straight quotes, \"…\""
                                                                    : "'" + plain.str() + "'"));
    return take(TokenKind::Bad, typeset);
  }

  // A run of bytes that no token begins with is one error, however long it is.
  StringRef bad = rest.take_while(
      [](char c) { return !isAlnum(c) && !isSpace(c) && !StringRef("_\"'(){}[],:;=+-*/%^<>!~#").contains(c); });
  size_t length = std::max<size_t>(bad.size(), 1);
  if (size_t letter = firstLetterOf(bad)) {
    diagnostics.error(rest.take_front(letter), "'" + rest.take_front(letter).str() +
                                                   "' is not a character of the language; names are made of a to z, "
                                                   "digits and '_'");
    return take(TokenKind::Bad, length);
  }
  bool text = isPrint(c);
  diagnostics.error(rest.take_front(length), text ? "unexpected character '" + std::string(1, c) + "'"
                                                  : "this byte (0x" + utohexstr(static_cast<unsigned char>(c)) +
                                                        ") cannot be part of a specification; is it a text file?");
  return take(TokenKind::Bad, length);
}

} // namespace skewer::language
