// The front end's messages, which have one form (file:line:column: kind: message, the line, what is under the caret),
// taken apart again.
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

struct Message {
  bool isHere = false; // in the text itself, not in a built-in scheme
  size_t begin = 0, end = 0;
  llvm::lsp::DiagnosticSeverity severity = llvm::lsp::DiagnosticSeverity::Error;
  bool isNote = false;
  std::string text;
};

/// The bytes that `columns` characters from `begin` on have.
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

std::vector<Message> messagesIn(StringRef printed, StringRef text) {
  std::vector<Message> messages;
  Regex placed("^([^:]*):([0-9]+):([0-9]+): (error|warning|note): (.*)$"), other("^(error|warning|note): (.*)$");
  for (StringRef rest = printed; !rest.empty(); rest = rest.split('\n').second) {
    StringRef line = rest.split('\n').first;
    SmallVector<StringRef> parts;
    Message message;
    StringRef kind;
    if (placed.match(line, &parts)) {
      kind = parts[4];
      message.text = parts[5].str();
      message.isHere = parts[1] == kBuffer;
      if (message.isHere) {
        unsigned row = 0, column = 0;
        parts[2].getAsInteger(10, row);
        parts[3].getAsInteger(10, column);
        size_t begin = 0;
        for (unsigned k = 1; k < row; ++k)
          begin = text.find('\n', begin) + 1;
        message.begin = std::min(begin + column - 1, text.size());
        StringRef marks = rest.split('\n').second.split('\n').second.split('\n').first.ltrim(' ');
        size_t width =
            marks.starts_with("^") ? marks.take_while([](char c) { return c == '^' || c == '~'; }).size() : 1;
        message.end = endOf(text, message.begin, width);
      }
    } else if (other.match(line, &parts)) {
      kind = parts[1];
      message.text = parts[2].str();
    } else {
      continue;
    }
    message.isNote = kind == "note";
    message.severity = kind == "error"     ? llvm::lsp::DiagnosticSeverity::Error
                       : kind == "warning" ? llvm::lsp::DiagnosticSeverity::Warning
                                           : llvm::lsp::DiagnosticSeverity::Information;
    messages.push_back(std::move(message));
  }
  return messages;
}

} // namespace

std::vector<llvm::lsp::Diagnostic> diagnose(StringRef text, const llvm::lsp::URIForFile &uri) {
  SourceMgr sources;
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(text, kBuffer), SMLoc());
  language::Options options;
  options.parameters = parametersIn(text);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  std::string printed;
  raw_string_ostream out(printed);
  language::importSource(sources, options, &context, out);

  std::vector<llvm::lsp::Diagnostic> found;
  bool isPlaced = true; // where the last one stands is known
  for (const Message &message : messagesIn(printed, text)) {
    llvm::lsp::Range range{positionOf(text, message.begin), positionOf(text, message.end)};
    if (!message.isNote || found.empty()) {
      llvm::lsp::Diagnostic diagnostic;
      diagnostic.range = range;
      diagnostic.severity = message.severity;
      diagnostic.source = "skewer";
      diagnostic.message = message.text;
      found.push_back(std::move(diagnostic));
      isPlaced = message.isHere;
      continue;
    }
    llvm::lsp::Diagnostic &last = found.back();
    last.message += "\nnote: " + message.text;
    if (!message.isHere)
      continue;
    if (!isPlaced) { // of a built-in scheme: at its call
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
