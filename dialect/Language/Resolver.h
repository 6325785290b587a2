// The resolver: maps names to symbols, between parsing and evaluation. It walks each kernel once, and each scheme once
// where it is declared. The meaning of a name is decided there, independent of the callers of a scheme and of the axis
// names of tensors.
#pragma once
#include "dialect/Language/Ast.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Symbols.h"
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

namespace skewer::language {

/// The parsed text of an einsum or a rearrangement.
struct ParsedText {
  std::optional<subscript::Einsum> spec;
  subscript::ParseError why;                // the reason if `spec` is empty
  std::map<std::string, llvm::StringRef> calls; // by the symbols that stand for them in index expressions
  std::map<std::string, int64_t> numbers;   // by the axes that stand for them
  bool isRefused = false;                   // an error is already reported
};

class Resolver {
public:
  explicit Resolver(Diagnostics &diagnostics) : diagnostics(diagnostics) {}
  using Schemes = std::map<std::string, const Scheme *>;

  void addBuiltins(const Program &);
  /// Resolves the declarations, kernels and schemes of the file. Reports errors about their names.
  void resolve(const Program &);
  /// Resolves a scheme once. Built-in schemes are resolved only when something calls them.
  void resolve(const Scheme &);

  /// Returns the meaning of a name or of the name of a call. Null if the name was not resolved: names in types and in
  /// the values of params.
  const Symbol *symbolOf(const Node &) const;
  const ParsedText &textOf(llvm::StringRef text);
  /// Returns the expression of a call in the text of an einsum, or of a name in it; null after an error.
  const Node *callInText(llvm::StringRef call);
  /// Returns the schemes that a caller can see: a built-in scheme if `isBuiltin`, otherwise the file. Schemes of the
  /// file hide built-in ones.
  const Schemes &schemesFor(bool isBuiltin) const { return isBuiltin ? builtins : schemes; }
  bool isBuiltin(const Scheme &scheme) const { return builtinSchemes.count(&scheme) > 0; }
  /// Returns whether the kernel or scheme that contains this call of a scheme names its own axis `i` or `j`, before or
  /// after the call.
  bool isScoreAxisAt(const Node &call, const std::string &axis) const { return scoreAxes.count({&call, axis}) > 0; }
  /// Returns whether the scheme's text contains the word. If it does, an axis of the caller with that name gets another
  /// name inside the scheme.
  bool mentions(const Scheme &, llvm::StringRef word);
  /// Returns whether the scheme takes the axis `i` or `j` from its caller: nothing in the scheme has that name.
  static bool takesFromCaller(const Scheme &, llvm::StringRef axis);

  /// Prints every name in the kernels and schemes of the file with its meaning, in the order of the text.
  void print(llvm::raw_ostream &) const;

private:
  /// The kind of meaning that a name may have at a place of the text.
  enum class Place {
    Expression, // numbers, positions and tensors alike
    Tensor,     // a whole tensor, if it is a name alone
    Number,     // numbers alone: sizes, ends of slices
    // A divisor. It is never a position, because a position is 0 at place 0.
    Divisor,
    PositionDivisor, // a divisor in an index expression
    Position,   // numbers and positions: index expressions
    Axis,       // an axis, or a dimension given by its number: sum(x, j)
    AxisOrSize, // i = q, i = 14
    AxisName    // len(n), position(n)
  };
  struct Names {
    std::map<std::string, Symbol> values;
    std::map<std::string, llvm::StringRef> axes; // with the places that name them
    std::set<std::string> contested; // names for which an error is already reported
    bool isBuiltin = false;
  };

  // Resolver.cpp: declarations and statements.
  void declareGlobals(const Program &);
  void resolveKernel(const Kernel &);
  void resolveBody(const std::vector<Statement> &);
  void declare(llvm::StringRef name, SymbolKind);
  void nameAxis(llvm::StringRef axis);
  void checkWord(llvm::StringRef word);

  // ResolveExpression.cpp
  void visit(const Node &, Place);
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
  void visitKeywords(const Node &, llvm::ArrayRef<llvm::StringRef> others = {});
  const Scheme *schemeOf(const Node &call) const;

  // NameAxes.cpp
  void nameAxesOf(const std::vector<Statement> &);
  void nameAxesOf(const Node &);
  void nameAxesOfCall(const Node &);
  void nameAxesOfText(const Node &text);

  // ResolveText.cpp
  ParsedText parseText(llvm::StringRef text) const;
  bool checkText(llvm::StringRef text);
  void checkIndices(llvm::StringRef text);
  void resolveCalls(const ParsedText &);

  void record(const Node &, Symbol);

  Diagnostics &diagnostics;
  Schemes builtins, schemes;
  std::set<const Scheme *> builtinSchemes, resolved;
  std::map<const Scheme *, std::set<std::string>> words;
  std::set<std::pair<const Node *, std::string>> scoreAxes;
  Names globals;
  Names *names = nullptr;
  llvm::DenseMap<const Node *, Symbol> symbols;
  std::vector<const Node *> order; // the nodes that have symbols, for printing
  struct Body {
    llvm::StringRef kind, name;
    size_t first;
  };
  std::vector<Body> bodies; // each with the place in `order` where it begins
  std::map<const char *, ParsedText> texts;
  std::map<const char *, NodePtr> calls; // calls in texts
};

} // namespace skewer::language
