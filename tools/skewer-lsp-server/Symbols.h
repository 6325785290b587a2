// Finds the meaning of names by tokens only: a text that is being typed has no syntax tree.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace skewer::lsp {

enum class SymbolKind { Param, Size, Kernel, Scheme, Operand, Value };

struct Symbol {
  SymbolKind kind;
  llvm::StringRef name;  // at its declaration
  llvm::StringRef line;  // the declaration, to the end of the line, without a comment
  llvm::StringRef scope; // the kernel or scheme that can use it; null: the whole text
  bool isConst = false;  // for an operand: the same at every call
};

std::vector<Symbol> symbolsOf(llvm::StringRef text);
/// Returns the declaration that a name at `offset` refers to: the last one before it in the kernel or scheme around it,
/// else one of the whole text. Null if there is none.
const Symbol *declarationOf(llvm::ArrayRef<Symbol>, llvm::StringRef text, llvm::StringRef name, size_t offset);
/// Returns the kind in words: "operand", "kernel", ….
const char *titleOf(SymbolKind);

} // namespace skewer::lsp
