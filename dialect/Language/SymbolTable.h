// The meanings of the names of a file, by the nodes of its syntax tree.
#pragma once
#include "dialect/Language/Ast.h"
#include "dialect/Language/Symbols.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

namespace skewer::language {

class SymbolTable {
public:
  /// Begins the names of a kernel or of a scheme of the file, for `print`.
  void beginBody(llvm::StringRef kind, llvm::StringRef name) { bodies.push_back({kind, name, order.size()}); }
  void record(const Node &, Symbol);
  void recordScoreAxis(const Node &call, llvm::StringRef axis) { scoreAxes.insert({&call, axis.str()}); }

  /// Returns the meaning of a name or of the name of a call. Null if the name was not resolved: names in types and in
  /// the values of params.
  const Symbol *of(const Node &) const;
  /// Returns whether the kernel or scheme that contains this call of a scheme names its own axis `i` or `j`, before or
  /// after the call.
  bool isScoreAxisAt(const Node &call, const std::string &axis) const { return scoreAxes.count({&call, axis}) > 0; }
  /// Prints every name in the bodies with its meaning, in the order of the text.
  void print(llvm::raw_ostream &, const llvm::SourceMgr &) const;

private:
  struct Body {
    llvm::StringRef kind, name;
    size_t first; // the place in `order` where it begins
  };

  llvm::DenseMap<const Node *, Symbol> symbols;
  std::vector<const Node *> order; // the nodes that have symbols
  std::vector<Body> bodies;
  std::set<std::pair<const Node *, std::string>> scoreAxes;
};

} // namespace skewer::language
