// One open .attn text, and the answers to an editor's requests about it: diagnostics, hovers, definitions, completions
// and layout. AttnServer.cpp keeps a document for each open file.
#pragma once
#include "tools/skewer-lsp-server/Meanings.h"
#include "tools/skewer-lsp-server/Symbols.h"
#include "llvm/Support/LSP/Protocol.h"
#include <optional>

namespace skewer::lsp {

class Document {
public:
  Document(llvm::lsp::URIForFile uri, std::string text, int64_t version);

  const llvm::lsp::URIForFile &uri() const { return place; }
  int64_t version() const { return number; }
  /// Replaces the text. The meanings of names stay until the text compiles again.
  void change(std::string text, int64_t version);

  std::vector<llvm::lsp::Diagnostic> diagnostics() const;
  std::optional<llvm::lsp::Hover> hover(llvm::lsp::Position);
  /// Returns the declaration of the name at a position; nothing for a built-in name.
  std::vector<llvm::lsp::Location> definition(llvm::lsp::Position) const;
  llvm::lsp::CompletionList completion(llvm::lsp::Position) const;
  /// Returns one edit of the whole text; none if it is already formatted or has errors.
  std::vector<llvm::lsp::TextEdit> format() const;
  std::vector<llvm::lsp::DocumentSymbol> outline() const;

private:
  /// Returns the name of the kernel around an offset; empty if there is none.
  std::string kernelAt(size_t offset) const;
  std::string describe(const Symbol &, size_t offset);

  llvm::lsp::URIForFile place;
  std::string text;
  int64_t number;
  std::vector<Symbol> symbols;
  Meanings meanings; // of the last version of the text that compiled
  bool isStale = true;
};

} // namespace skewer::lsp
