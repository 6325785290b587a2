// The parser: turns tokens into a syntax tree (Ast.h), by recursive descent of bounded depth.
#pragma once
#include "dialect/Language/StatementParser.h"

namespace skewer::language {

/// Parses declarations; their statements and expressions have parsers of their own, which read the same tokens.
class Parser {
public:
  Parser(llvm::StringRef text, Diagnostics &diagnostics)
      : tokens(text, diagnostics), expressions(tokens, diagnostics), statements(tokens, expressions, diagnostics),
        diagnostics(diagnostics) {}
  Parser(const Parser &) = delete;
  /// Parses declarations up to the end of the text. After an error it continues at the next statement or declaration.
  void program(Program &);
  /// Parses the whole text as one expression; null after an error.
  NodePtr onlyExpression();

private:
  void skipToDeclaration();
  bool failAtWord();
  bool params(Program &);
  bool sizes(Program &);
  bool kernel(Program &);
  bool kernelResults(Kernel &);
  bool scheme(Program &);
  bool schemeAfterName(Scheme &);
  bool schemeOperand(SchemeOperand &);
  bool axisNames(std::vector<llvm::StringRef> &, llvm::StringRef after, const std::string &what);
  bool type(TypeExpression &);
  bool spread(TypeExpression &);

  TokenStream tokens;
  ExpressionParser expressions;
  StatementParser statements;
  Diagnostics &diagnostics;
};

} // namespace skewer::language
