// The parser: turns tokens into a syntax tree (Ast.h), by recursive descent of bounded depth.
#pragma once
#include "dialect/Language/Ast.h"
#include "dialect/Language/Lexer.h"

namespace skewer::language {

class Parser {
public:
  Parser(llvm::StringRef text, Diagnostics &diagnostics) : lexer(text, diagnostics), diagnostics(diagnostics) {
    advance();
    advance();
  }
  /// Parses declarations up to the end of the text. After an error it continues at the next statement or declaration.
  void program(Program &);
  /// Parses the whole text as one expression; null after an error.
  NodePtr onlyExpression();

private:
  void advance();
  bool at(llvm::StringRef symbol) const { return current.is(symbol); }
  bool take(llvm::StringRef symbol);
  bool expect(llvm::StringRef symbol, llvm::StringRef after);
  bool expectName(llvm::StringRef &name, llvm::StringRef what);
  bool fail(const std::string &expected);
  bool failAtWord();
  void explainFound();
  std::string found() const;
  void skipToDeclaration();
  void skipToStatement();

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
  void block(std::vector<Statement> &, llvm::StringRef &end);
  bool statement(Statement &);
  bool nameAlone(Statement &, llvm::StringRef name);
  bool part(Statement &);

  NodePtr expression(); // including `where`
  NodePtr conditional();
  NodePtr binary(int lowest);
  NodePtr product();
  NodePtr unary();
  NodePtr power();
  NodePtr postfix();
  NodePtr primary();
  NodePtr number();
  NodePtr list(llvm::StringRef close);
  bool arguments(Node &call);
  bool subscripts(Node &subscript);
  NodePtr make(NodeKind kind, llvm::StringRef from, llvm::StringRef name, std::vector<NodePtr> operands);
  llvm::StringRef upToHere(llvm::StringRef from) const;

  Lexer lexer;
  Diagnostics &diagnostics;
  Token current, following;
  llvm::StringRef previous; // the text of the token before the current one
  llvm::StringRef slashes;  // a "//" before the current token on its line
  // A block has no end, so the parser cannot tell what follows it.
  bool unclosed = false;
  int nesting = 0;
};

} // namespace skewer::language
