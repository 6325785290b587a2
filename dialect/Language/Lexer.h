// Text to tokens.
#pragma once
#include "dialect/Language/Diagnostics.h"

namespace skewer::language {

enum class TokenKind { End, Name, Number, String, Symbol, Bad };

struct Token {
  TokenKind kind = TokenKind::End;
  llvm::StringRef text;       // as written, quotes included
  bool newlineBefore = false; // the first token of its line: where a statement may begin
  bool is(llvm::StringRef symbol) const {
    return (kind == TokenKind::Symbol || kind == TokenKind::Name) && text == symbol;
  }
};

/// Produces tokens one after another, so that a huge file costs no memory.
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
  bool slashes = false; // "//" stands before on this line
};

} // namespace skewer::language
