// The parser of expressions, by recursive descent of bounded depth.
#pragma once
#include "dialect/Language/Ast.h"
#include "dialect/Language/TokenStream.h"

namespace skewer::language {

/// Each function returns null after an error.
class ExpressionParser {
public:
  ExpressionParser(TokenStream &tokens, Diagnostics &diagnostics) : tokens(tokens), diagnostics(diagnostics) {}
  NodePtr expression(); // including `where`
  /// Parses an expression without operators that bind less than *: a sum has parentheses.
  NodePtr product();
  /// Parses a, b, … without parentheses, which the results of a kernel are. One alone stands for itself.
  NodePtr tuple();

private:
  NodePtr conditional();
  NodePtr binary(int lowest);
  NodePtr unary();
  NodePtr power();
  NodePtr postfix();
  NodePtr primary();
  NodePtr number();
  NodePtr list(llvm::StringRef close);
  bool arguments(Node &call);
  bool subscripts(Node &subscript);
  NodePtr make(NodeKind kind, llvm::StringRef from, llvm::StringRef name, std::vector<NodePtr> operands = {});
  NodePtr make(NodeKind kind, llvm::StringRef from, llvm::StringRef name, NodePtr left, NodePtr right = nullptr);
  bool isTooDeep(llvm::StringRef place);

  TokenStream &tokens;
  Diagnostics &diagnostics;
  int nesting = 0;
};

} // namespace skewer::language
