// The parser of the statements of a body; it continues after errors.
#pragma once
#include "dialect/Language/ExpressionParser.h"

namespace skewer::language {

class StatementParser {
public:
  StatementParser(TokenStream &tokens, ExpressionParser &expressions, Diagnostics &diagnostics)
      : tokens(tokens), expressions(expressions), diagnostics(diagnostics) {}
  /// Parses statements up to the closing brace, which becomes `end`. After an error it continues at the next statement.
  void block(std::vector<Statement> &, llvm::StringRef &end);

private:
  bool statement(Statement &);
  bool requirement(Statement &);
  bool part(Statement &);
  bool targets(Statement &);
  bool nameAlone(Statement &, llvm::StringRef name);
  void skipToStatement();

  TokenStream &tokens;
  ExpressionParser &expressions;
  Diagnostics &diagnostics;
};

} // namespace skewer::language
