// What the compiler has said, taken apart: the form of a message is the same everywhere (CONTRIBUTING.md, Messages).
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace skewer::library {

enum class Severity : int32_t { Error, Warning, Note, Remark };

struct Diagnostic {
  std::string file; // empty: about the request
  uint32_t line = 0, column = 0;
  Severity severity = Severity::Error;
  std::string text, source; // `source`: the line of the spec
};

/// The diagnostics of a text in the compiler style: "FILE:LINE:COLUMN: error: TEXT", where there is a line followed by
/// it and by a caret; or "skewer: error: TEXT". Lines of no such form belong to the text of the one before them.
std::vector<Diagnostic> diagnosticsOf(llvm::StringRef messages);

} // namespace skewer::library
