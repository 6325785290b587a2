// Resolves the names of one body, statement by statement.
#pragma once
#include "dialect/Language/BodyNames.h"
#include "dialect/Language/SymbolTable.h"
#include "dialect/Language/TextTable.h"

namespace skewer::language {

class BodyResolver {
public:
  /// The kind of meaning that a name may have at a place of the text.
  enum class Place {
    Expression, // numbers, positions and tensors alike
    Tensor,     // a whole tensor, if it is a name alone
    Number,     // numbers alone: sizes, ends of slices
    // A divisor. It is never a position, because a position is 0 at place 0.
    Divisor,
    PositionDivisor, // a divisor in an index expression
    Position,        // numbers and positions: index expressions
    Axis,            // an axis, or a dimension given by its number: sum(x, j)
    AxisOrSize,      // i = q, i = 14
    AxisName         // len(n), position(n)
  };

  /// `names`: what the body sees before its first statement, and the axes that it names anywhere.
  BodyResolver(const KnownSchemes &schemes, TextTable &texts, SymbolTable &symbols, Diagnostics &diagnostics,
               BodyNames &names)
      : schemes(schemes), texts(texts), symbols(symbols), diagnostics(diagnostics), names(names) {}
  void resolve(const std::vector<Statement> &);
  void visit(const Node &, Place);

private:
  void visitNext(const std::vector<NodePtr> &, size_t first, Place);
  void visitSubscript(const Node &, Place);
  void visitBinary(const Node &, Place);
  void visitName(const Node &, Place);
  void visitStatement(const Node &);
  static Place within(Place);
  static Place divisorAt(Place);
  void reportContest(llvm::StringRef place, const std::string &name, const Symbol &);

  // ResolveCall.cpp
  void visitCall(const Node &, Place);
  void visitEinsum(const Node &);
  void visitRearrangement(const Node &);
  void visitAmongKeywords(const Node &, size_t function, llvm::StringRef notAnAxis);
  void visitAlong(const Node &);
  void visitSchemeCall(const Node &, const Scheme &, Place);
  void visitKeywords(const Node &);
  void resolveCalls(const ParsedText &);
  void checkIndices(llvm::StringRef text, ParsedText &);

  const KnownSchemes &schemes;
  TextTable &texts;
  SymbolTable &symbols;
  Diagnostics &diagnostics;
  BodyNames &names;
};

} // namespace skewer::language
