// Taking messages apart.
#include "tools/libskewer/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <utility>

using llvm::StringRef;

namespace skewer::library {

/// Takes a number from 1 off the end of "FILE:12"; 0 where there is none.
static uint32_t takeNumber(StringRef &place) {
  auto [before, last] = place.rsplit(':');
  uint32_t number = 0;
  if (before.empty() || last.getAsInteger(10, number))
    return 0;
  place = before;
  return number;
}

/// The diagnostic that begins with this line.
static std::optional<Diagnostic> startOf(StringRef line) {
  constexpr std::pair<const char *, Severity> kWords[] = {{": error: ", Severity::Error},
                                                          {": warning: ", Severity::Warning},
                                                          {": note: ", Severity::Note},
                                                          {": remark: ", Severity::Remark}};
  if (line.empty() || line.front() == ' ')
    return std::nullopt;
  Diagnostic diagnostic;
  if (line.consume_front("note: ")) { // to the one before it, at no place of its own
    diagnostic.severity = Severity::Note;
    diagnostic.text = line.str();
    return diagnostic;
  }
  size_t where = StringRef::npos, length = 0;
  for (auto [word, severity] : kWords)
    if (size_t found = line.find(word); found < where)
      where = found, length = StringRef(word).size(), diagnostic.severity = severity;
  if (where == StringRef::npos || where == 0)
    return std::nullopt;
  StringRef place = line.take_front(where);
  diagnostic.text = line.drop_front(where + length).str();
  if (place == "skewer")
    return diagnostic;
  diagnostic.column = takeNumber(place);
  diagnostic.line = takeNumber(place);
  if (!diagnostic.line)
    std::swap(diagnostic.line, diagnostic.column);
  diagnostic.file = place.str();
  return diagnostic;
}

static bool isCaretLine(StringRef line) {
  return line.contains('^') && line.find_first_not_of(" \t^~") == StringRef::npos;
}

std::vector<Diagnostic> diagnosticsOf(StringRef messages) {
  llvm::SmallVector<StringRef> lines;
  messages.split(lines, '\n');
  std::vector<Diagnostic> diagnostics;
  for (size_t k = 0; k < lines.size(); ++k) {
    if (auto start = startOf(lines[k])) {
      // The line of the spec may itself look like a message.
      if (start->line && k + 2 < lines.size() && isCaretLine(lines[k + 2])) {
        start->source = lines[k + 1].str();
        k += 2;
      }
      diagnostics.push_back(std::move(*start));
    } else if (!lines[k].empty() && !diagnostics.empty()) {
      diagnostics.back().text += "\n" + lines[k].str();
    } else if (!lines[k].empty()) {
      diagnostics.push_back({"", 0, 0, Severity::Error, lines[k].str(), ""});
    }
  }
  return diagnostics;
}

} // namespace skewer::library
