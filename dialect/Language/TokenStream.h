// The tokens of a text as the parsers see them: the current one and the next, with what the errors say of them.
#pragma once
#include "dialect/Language/Lexer.h"

namespace skewer::language {

class TokenStream {
public:
  TokenStream(llvm::StringRef text, Diagnostics &diagnostics) : lexer(text, diagnostics), diagnostics(diagnostics) {
    advance();
    advance();
  }
  const Token &current() const { return token; }
  const Token &following() const { return next; }
  /// Returns the text of the token before the current one.
  llvm::StringRef previous() const { return before; }
  /// Returns the text of the current token, the place of errors at it.
  llvm::StringRef text() const { return token.text; }
  bool at(llvm::StringRef symbol) const { return token.is(symbol); }
  bool atOneOf(llvm::ArrayRef<llvm::StringRef> symbols) const {
    return llvm::any_of(symbols, [&](llvm::StringRef symbol) { return at(symbol); });
  }
  bool atEnd() const { return token.kind == TokenKind::End; }
  bool atName() const { return token.kind == TokenKind::Name; }
  /// Returns whether a "//" stands before the current token on its line: perhaps a comment as other languages have it.
  bool isAfterSlashes() const { return slashes.data() != nullptr; }
  /// Returns the text from the beginning of `from` to the end of the token before the current one.
  llvm::StringRef since(llvm::StringRef from) const { return {from.data(), size_t(before.end() - from.data())}; }

  void advance();
  /// Advances if the current token is the symbol; returns whether it is.
  bool take(llvm::StringRef symbol);
  /// As `take`, and reports an error if it is not.
  bool expect(llvm::StringRef symbol, llvm::StringRef after);
  bool expectName(llvm::StringRef &name, llvm::StringRef what);
  /// Reports that something else than the current token was expected, with what the token means in other languages.
  /// Returns false.
  bool fail(const std::string &expected);
  /// Returns the current token as messages show it.
  std::string found() const;

private:
  void explainFound();

  Lexer lexer;
  Diagnostics &diagnostics;
  Token token, next;
  llvm::StringRef before, slashes;
};

} // namespace skewer::language
