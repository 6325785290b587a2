// Positions in a text as editors count them: lines from 0, and UTF-16 units within a line.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LSP/Protocol.h"

namespace skewer::lsp {

llvm::lsp::Position positionOf(llvm::StringRef text, size_t offset);
/// Returns the offset in bytes; the end of the line, or of the text, if the position does not exist.
size_t offsetOf(llvm::StringRef text, llvm::lsp::Position);
/// Returns the range of `piece`, a part of `text`.
llvm::lsp::Range rangeOf(llvm::StringRef text, llvm::StringRef piece);
/// Returns the name at a position, or just before it; empty if there is none.
llvm::StringRef wordAt(llvm::StringRef text, size_t offset);

} // namespace skewer::lsp
