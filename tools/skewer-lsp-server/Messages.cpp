// Converts the front end's diagnostics to an editor's diagnostics.
#include "tools/skewer-lsp-server/Messages.h"
#include "dialect/Language/Language.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/skewer-lsp-server/Positions.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace skewer::lsp {

constexpr StringLiteral kBuffer = "this file";

language::Parameters parametersIn(StringRef text) {
  language::Parameters parameters;
  Regex definition("^(.*)-D ?([A-Za-z_][A-Za-z_0-9]*)=(-?[0-9.eE+-]+)");
  for (StringRef rest = text; !rest.empty(); rest = rest.split('\n').second) {
    StringRef line = rest.split('\n').first;
    size_t comment = line.find('#');
    line = comment == StringRef::npos ? "" : line.drop_front(comment);
    SmallVector<StringRef> matches;
    for (; definition.match(line, &matches); line = matches[1]) { // the last one first
      int64_t whole;
      double real;
      if (!matches[3].getAsInteger(10, whole))
        parameters.emplace(matches[2].str(), whole);
      else if (!matches[3].getAsDouble(real))
        parameters.emplace(matches[2].str(), real);
    }
  }
  return parameters;
}

namespace {

/// Returns the end offset, in bytes, of `columns` characters from `begin` on.
size_t endOf(StringRef text, size_t begin, size_t columns) {
  size_t end = begin;
  while (end < text.size() && columns > 0) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      ++end;
    --columns;
  }
  return end;
}

/// Returns the range of a diagnostic in the text; the beginning of the text if it is about another place.
llvm::lsp::Range rangeOf(StringRef text, const language::Diagnostic &diagnostic) {
  if (diagnostic.file != kBuffer || !diagnostic.line)
    return {positionOf(text, 0), positionOf(text, 0)};
  size_t begin = 0;
  for (unsigned k = 1; k < diagnostic.line; ++k)
    begin = text.find('\n', begin) + 1;
  begin = std::min(begin + std::max(diagnostic.column, 1u) - 1, text.size());
  return {positionOf(text, begin), positionOf(text, endOf(text, begin, diagnostic.length))};
}

llvm::lsp::DiagnosticSeverity severityOf(language::Severity severity) {
  return severity == language::Severity::Error     ? llvm::lsp::DiagnosticSeverity::Error
         : severity == language::Severity::Warning ? llvm::lsp::DiagnosticSeverity::Warning
                                                   : llvm::lsp::DiagnosticSeverity::Information;
}

} // namespace

std::vector<llvm::lsp::Diagnostic> diagnose(StringRef text, const llvm::lsp::URIForFile &uri) {
  SourceMgr sources;
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(text, kBuffer), SMLoc());
  language::Options options;
  options.parameters = parametersIn(text);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  std::vector<language::Diagnostic> said;
  language::importSource(sources, options, &context,
                         [&](language::Diagnostic diagnostic) { said.push_back(std::move(diagnostic)); });

  std::vector<llvm::lsp::Diagnostic> found;
  bool isPlaced = true; // whether the place of the last diagnostic in this text is known
  for (const language::Diagnostic &message : said) {
    llvm::lsp::Range range = rangeOf(text, message);
    bool isHere = message.file == kBuffer; // not in a built-in scheme
    if (message.severity != language::Severity::Note || found.empty()) {
      llvm::lsp::Diagnostic diagnostic;
      diagnostic.range = range;
      diagnostic.severity = severityOf(message.severity);
      diagnostic.source = "skewer";
      diagnostic.message = message.text;
      found.push_back(std::move(diagnostic));
      isPlaced = isHere;
      continue;
    }
    llvm::lsp::Diagnostic &last = found.back();
    last.message += "\nnote: " + message.text;
    if (!isHere)
      continue;
    if (!isPlaced) { // the error is in a built-in scheme: use the place of its call
      last.range = range;
      isPlaced = true;
    }
    if (!last.relatedInformation)
      last.relatedInformation.emplace();
    last.relatedInformation->emplace_back(llvm::lsp::Location(uri, range), message.text);
  }
  return found;
}

} // namespace skewer::lsp
