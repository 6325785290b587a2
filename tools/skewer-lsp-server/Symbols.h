// What the names of a text are, by its tokens alone: a text that is being typed has no syntax tree.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace skewer::lsp {

enum class SymbolKind { Param, Size, Kernel, Scheme, Operand, Value };

struct Symbol {
  SymbolKind kind;
  llvm::StringRef name;  // where it is declared
  llvm::StringRef line;  // what declares it, to the end of the line, without a comment
  llvm::StringRef scope; // the kernel or scheme that sees it; null: the whole text
  bool isConst = false;  // of an operand: the same at every call
};

std::vector<Symbol> symbolsOf(llvm::StringRef text);
/// The declaration that a name at `offset` means: the last one before it of the kernel or scheme around it, else one of
/// the whole text. Null where there is none.
const Symbol *declarationOf(llvm::ArrayRef<Symbol>, llvm::StringRef text, llvm::StringRef name, size_t offset);
/// "operand", "kernel", …
const char *titleOf(SymbolKind);

} // namespace skewer::lsp
