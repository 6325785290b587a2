// Places in a text as editors count them: lines from 0, and in a line the units of UTF-16.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LSP/Protocol.h"

namespace skewer::lsp {

llvm::lsp::Position positionOf(llvm::StringRef text, size_t offset);
/// Bytes from the beginning; the end of the line, or of the text, where there is no such place.
size_t offsetOf(llvm::StringRef text, llvm::lsp::Position);
/// Of a piece of `text`.
llvm::lsp::Range rangeOf(llvm::StringRef text, llvm::StringRef piece);
/// The name at a place, or just before it; empty where there is none.
llvm::StringRef wordAt(llvm::StringRef text, size_t offset);

} // namespace skewer::lsp
