// Computes line, column and source line of a place in a text, and prints them with a caret.
#include "dialect/Language/Diagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace skewer::language {

namespace {
/// Replaces characters that a terminal cannot show by '?', and tabs by spaces.
std::string printable(StringRef text) {
  std::string shown;
  for (char c : text)
    shown += c == '\t' ? ' ' : static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return shown;
}
/// Returns the number of columns; UTF-8 continuation bytes take none.
unsigned columns(StringRef text) {
  return count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

StringRef nameOf(Severity severity) {
  // In the order of Severity.
  static constexpr StringLiteral names[] = {"error", "warning", "note", "remark"};
  return names[static_cast<size_t>(severity)];
}
} // namespace

Diagnostic diagnosticAt(const SourceMgr &sources, StringRef place, Severity severity, std::string text) {
  Diagnostic diagnostic{severity, std::move(text)};
  SMLoc location = SMLoc::getFromPointer(place.data());
  unsigned buffer = place.data() ? sources.FindBufferContainingLoc(location) : 0;
  if (!buffer)
    return diagnostic;
  const MemoryBuffer *memory = sources.getMemoryBuffer(buffer);
  diagnostic.file = memory->getBufferIdentifier().str();
  std::tie(diagnostic.line, diagnostic.column) = sources.getLineAndColumn(location, buffer);

  constexpr ptrdiff_t kBefore = 100, kAfter = 120; // of a long line: the bytes to show before and after the place
  const char *begin = place.data(), *end = place.data();
  while (begin > memory->getBufferStart() && begin[-1] != '\n' && begin[-1] != '\r' && place.data() - begin < kBefore)
    --begin;
  while (end < memory->getBufferEnd() && *end != '\n' && *end != '\r' && end - place.data() < kAfter)
    ++end;
  diagnostic.source = printable(StringRef(begin, end - begin));
  diagnostic.before = columns(StringRef(begin, place.data() - begin));
  diagnostic.length = std::max(1u, columns(place.take_front(end - place.data())));
  return diagnostic;
}

void print(raw_ostream &out, const Diagnostic &diagnostic, StringRef tool) {
  if (!diagnostic.file.empty()) {
    out << diagnostic.file << ":";
    if (diagnostic.line)
      out << diagnostic.line << ":";
    if (diagnostic.line && diagnostic.column)
      out << diagnostic.column << ":";
    out << " ";
  } else if (!tool.empty() && !diagnostic.isAttached) {
    out << tool << ": ";
  }
  out << nameOf(diagnostic.severity) << ": " << diagnostic.text << "\n";
  if (diagnostic.length)
    out << diagnostic.source << "\n"
        << std::string(diagnostic.before, ' ') << "^" << std::string(diagnostic.length - 1, '~') << "\n";
}

DiagnosticSink printingTo(raw_ostream &out) {
  return [&out](const Diagnostic &diagnostic) { print(out, diagnostic); };
}

} // namespace skewer::language
