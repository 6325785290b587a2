// One open .attn text, and what an editor asks about it.
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
  /// The text as it is now. What names meant is kept until it compiles again.
  void change(std::string text, int64_t version);

  std::vector<llvm::lsp::Diagnostic> diagnostics() const;
  std::optional<llvm::lsp::Hover> hover(llvm::lsp::Position);
  /// Where the name at a place is declared; nothing for what is built in.
  std::vector<llvm::lsp::Location> definition(llvm::lsp::Position) const;
  llvm::lsp::CompletionList completion(llvm::lsp::Position) const;
  /// One edit of the whole text; none where it is laid out already, or has errors.
  std::vector<llvm::lsp::TextEdit> format() const;
  std::vector<llvm::lsp::DocumentSymbol> outline() const;

private:
  /// The kernel around a place; empty where there is none.
  std::string kernelAt(size_t offset) const;
  std::string describe(const Symbol &, size_t offset);

  llvm::lsp::URIForFile place;
  std::string text;
  int64_t number;
  std::vector<Symbol> symbols;
  Meanings meanings; // of the last text that compiled
  bool isStale = true;
};

} // namespace skewer::lsp
