// The lexer: splits a specification into tokens for the parser and the formatter.
#pragma once
#include "dialect/Language/Diagnostics.h"

namespace skewer::language {

enum class TokenKind { End, Name, Number, String, Symbol, Bad };

struct Token {
  TokenKind kind = TokenKind::End;
  llvm::StringRef text;       // as written, quotes included
  bool newlineBefore = false; // the token is the first of its line, where a statement may begin
  bool is(llvm::StringRef symbol) const {
    return (kind == TokenKind::Symbol || kind == TokenKind::Name) && text == symbol;
  }
};

/// Produces tokens one by one, so that a huge file needs no memory for them.
class Lexer {
public:
  Lexer(llvm::StringRef text, Diagnostics &diagnostics);
  Token next();

private:
  Token take(TokenKind kind, size_t length);
  Token takeBad();
  llvm::StringRef rest;
  Diagnostics &diagnostics;
  bool newline = true;
  bool slashes = false; // "//" occurs earlier on this line
};

} // namespace skewer::language
