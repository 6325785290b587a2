// Answers requests about a text: from its tokens while it is being typed, from the compiled text if it compiles.
#include "tools/skewer-lsp-server/Document.h"
#include "dialect/Language/Format.h"
#include "tools/skewer-lsp-server/Builtins.h"
#include "tools/skewer-lsp-server/Messages.h"
#include "tools/skewer-lsp-server/Positions.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace skewer::lsp {

Document::Document(llvm::lsp::URIForFile uri, std::string newText, int64_t version) : place(std::move(uri)) {
  change(std::move(newText), version);
}

void Document::change(std::string newText, int64_t version) {
  text = std::move(newText);
  number = version;
  symbols = symbolsOf(text);
  isStale = true;
}

std::vector<llvm::lsp::Diagnostic> Document::diagnostics() const { return diagnose(text, place); }

std::string Document::kernelAt(size_t offset) const {
  for (const Symbol &kernel : symbols)
    if (kernel.kind == SymbolKind::Kernel) {
      if (offset >= size_t(kernel.name.data() - text.data()) && offset <= size_t(kernel.name.end() - text.data()))
        return kernel.name.str();
      for (const Symbol &inside : symbols)
        if (inside.scope.data() && inside.scope.begin() <= kernel.name.begin() &&
            inside.scope.end() >= kernel.name.end() && text.data() + offset >= inside.scope.begin() &&
            text.data() + offset <= inside.scope.end())
          return kernel.name.str();
    }
  return "";
}

std::string Document::describe(const Symbol &symbol, size_t offset) {
  bool isListed = symbol.kind == SymbolKind::Param || symbol.kind == SymbolKind::Size; // one of several on a line
  std::string out =
      "```attn\n" + (isListed ? titleOf(symbol.kind) + std::string(" ") : "") + symbol.line.str() + "\n```\n";
  if (isStale) {
    Meanings now = meaningsOf(text, place.file().str());
    if (!now.empty())
      meanings = std::move(now);
    isStale = false;
  }
  auto kernel = meanings.find(symbol.kind == SymbolKind::Kernel ? symbol.name.str() : kernelAt(offset));
  if (kernel == meanings.end())
    return out + titleOf(symbol.kind) + "\n";
  auto found = kernel->second.find(symbol.name.str());
  if (found == kernel->second.end())
    return out + titleOf(symbol.kind) + "\n";
  const Meaning &meaning = found->second;
  out += titleOf(symbol.kind);
  if (!meaning.type.empty())
    out += " `" + meaning.type + "`";
  if (!meaning.axes.empty())
    out += ", axes `" + meaning.axes + "`";
  if (symbol.isConst)
    out += ", `const`: the same at every call";
  out += "\n";
  for (const std::string &term : meaning.terms)
    out += "- " + term + "\n";
  return out;
}

std::optional<llvm::lsp::Hover> Document::hover(llvm::lsp::Position position) {
  size_t offset = offsetOf(text, position);
  StringRef word = wordAt(text, offset);
  if (word.empty())
    return std::nullopt;
  llvm::lsp::Hover hover(rangeOf(text, word));
  if (const Symbol *symbol = declarationOf(symbols, text, word, offset))
    hover.contents.value = describe(*symbol, offset);
  else if (const Builtin *builtin = findBuiltin(word))
    hover.contents.value = builtin->isScheme ? "```attn\n" + builtin->text + "\n```\nbuilt-in scheme\n"
                                             : "`" + builtin->usage + "`\n\n" + builtin->text + "\n";
  else
    return std::nullopt;
  return hover;
}

std::vector<llvm::lsp::Location> Document::definition(llvm::lsp::Position position) const {
  size_t offset = offsetOf(text, position);
  StringRef word = wordAt(text, offset);
  const Symbol *symbol = word.empty() ? nullptr : declarationOf(symbols, text, word, offset);
  if (!symbol)
    return {};
  return {llvm::lsp::Location(place, rangeOf(text, symbol->name))};
}

llvm::lsp::CompletionList Document::completion(llvm::lsp::Position position) const {
  using Kind = llvm::lsp::CompletionItemKind;
  size_t offset = offsetOf(text, position);
  llvm::lsp::CompletionList list;
  StringSet<> seen;
  auto add = [&](StringRef name, Kind kind, const Twine &detail, char order) {
    if (!seen.insert(name).second)
      return;
    llvm::lsp::CompletionItem item(name, kind, (Twine(order) + name).str());
    item.detail = detail.str();
    list.items.push_back(std::move(item));
  };
  const char *here = text.data() + offset;
  StringRef typed = wordAt(text, offset);
  for (const Symbol &symbol : symbols) // the nearest first
    if (symbol.scope.data() && symbol.scope.begin() <= here && here <= symbol.scope.end() &&
        symbol.name.data() != typed.data())
      add(symbol.name, Kind::Variable, symbol.line, 'a');
  for (const Symbol &symbol : symbols)
    if (!symbol.scope.data() && symbol.kind != SymbolKind::Kernel && symbol.name.data() != typed.data())
      add(symbol.name, symbol.kind == SymbolKind::Scheme ? Kind::Function : Kind::Constant, symbol.line, 'b');
  for (const Builtin &builtin : builtins())
    add(builtin.name, Kind::Function, builtin.usage, builtin.isScheme ? 'c' : 'd');
  for (StringRef word : language::keywords())
    add(word, Kind::Keyword, "", 'e');
  return list;
}

std::vector<llvm::lsp::TextEdit> Document::format() const {
  SourceMgr sources;
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(text, place.file()), SMLoc());
  auto laidOut = language::formatted(sources, [](const language::Diagnostic &) {});
  if (!laidOut || *laidOut == text)
    return {};
  llvm::lsp::TextEdit edit;
  edit.range = {llvm::lsp::Position(), positionOf(text, text.size())};
  edit.newText = std::move(*laidOut);
  return {edit};
}

std::vector<llvm::lsp::DocumentSymbol> Document::outline() const {
  std::vector<llvm::lsp::DocumentSymbol> list;
  for (const Symbol &symbol : symbols)
    if (!symbol.scope.data()) {
      bool isFunction = symbol.kind == SymbolKind::Kernel || symbol.kind == SymbolKind::Scheme;
      llvm::lsp::Range range = rangeOf(text, symbol.name);
      list.emplace_back(symbol.name, isFunction ? llvm::lsp::SymbolKind::Function : llvm::lsp::SymbolKind::Constant,
                        range, range);
      list.back().detail = titleOf(symbol.kind);
    }
  return list;
}

} // namespace skewer::lsp
