// Names to symbols: the phase between the parser and the evaluation. Each kernel, and each scheme where it is declared,
// is walked once; what a name stands for is settled there, whatever calls the scheme and whatever a tensor's axes are
// called.
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

/// The text of an einsum or a rearrangement, taken apart.
struct ParsedText {
  std::optional<subscript::Einsum> spec;
  subscript::ParseError why;                // where there is none
  std::map<std::string, llvm::StringRef> calls; // by the symbols that stand for them in index expressions
  std::map<std::string, int64_t> numbers;   // by the axes that stand for them
  bool isRefused = false;                   // an error has been reported
};

class Resolver {
public:
  explicit Resolver(Diagnostics &diagnostics) : diagnostics(diagnostics) {}
  using Schemes = std::map<std::string, const Scheme *>;

  void addBuiltins(const Program &);
  /// The declarations, kernels and schemes of the file. Reports errors about their names.
  void resolve(const Program &);
  /// A scheme, once. Built-in ones are left until something calls them.
  void resolve(const Scheme &);

  /// What a name or the name of a call stands for; null where nobody has asked it: in types and the values of params.
  const Symbol *symbolOf(const Node &) const;
  const ParsedText &textOf(llvm::StringRef text);
  /// The expression of a call in the text of an einsum, or of a name in it; null after an error.
  const Node *callInText(llvm::StringRef call);
  /// The schemes that a built-in scheme, or else the file, may call. The file's come before built-in ones.
  const Schemes &schemesFor(bool isBuiltin) const { return isBuiltin ? builtins : schemes; }
  bool isBuiltin(const Scheme &scheme) const { return builtinSchemes.count(&scheme) > 0; }
  /// Whether the kernel or scheme that this call of a scheme stands in names its own axis `i` or `j`, before or behind.
  bool isScoreAxisAt(const Node &call, const std::string &axis) const { return scoreAxes.count({&call, axis}) > 0; }
  /// Whether the scheme's text has the word: an axis of a caller's that is called so has another name inside.
  bool mentions(const Scheme &, llvm::StringRef word);
  /// Whether `i` or `j` is an axis that the scheme takes from its caller: nothing of the scheme's own has the name.
  static bool takesFromCaller(const Scheme &, llvm::StringRef axis);

  /// Every name of the kernels and schemes of the file with its meaning, in the order of the text.
  void print(llvm::raw_ostream &) const;

private:
  /// What may stand at a place of the text.
  enum class Place {
    Expression, // numbers, positions and tensors alike
    Tensor,     // a whole tensor, where it is a name alone
    Number,     // numbers alone: sizes, ends of slices
    Divisor,    // what is divided by, which no position is: it is 0 at place 0
    PositionDivisor, // the same in an index expression
    Position,   // numbers and positions: index expressions
    Axis,       // an axis, or a dimension by its number: sum(x, j)
    AxisOrSize, // i = q, i = 14
    AxisName    // len(n), position(n)
  };
  struct Names {
    std::map<std::string, Symbol> values;
    std::map<std::string, llvm::StringRef> axes; // with the places that name them
    std::set<std::string> contested; // of which an error has been reported
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
  std::vector<const Node *> order; // of what has symbols, for printing
  struct Body {
    llvm::StringRef kind, name;
    size_t first;
  };
  std::vector<Body> bodies; // with the place in `order` where each begins
  std::map<const char *, ParsedText> texts;
  std::map<const char *, NodePtr> calls; // in texts
};

} // namespace skewer::language
