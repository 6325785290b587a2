// One message about a text, as data, and how it is shown.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SourceMgr.h"
#include <functional>
#include <string>

namespace skewer::language {

enum class Severity { Error, Warning, Note, Remark };

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string text;
  std::string file = {};           // empty: about no file
  unsigned line = 0, column = 0;   // from 1, the column in bytes; 0: unknown, the file as a whole
  std::string source = {};         // the line as a terminal can show it, of a long one the part around the place
  unsigned before = 0, length = 0; // characters of `source` before the place, and of the place; 0: the line is unknown
  bool isAttached = false;         // a note to the one before it
};

/// Who takes diagnostics, one by one, in their order.
using DiagnosticSink = std::function<void(Diagnostic)>;

/// At a piece of one of the buffers; about no file where it is in none of them, as an empty StringRef without a pointer.
Diagnostic diagnosticAt(const llvm::SourceMgr &, llvm::StringRef place, Severity, std::string text);

/// In the style of a compiler: "FILE:LINE:COLUMN: error: TEXT", the line, a caret and an underline. What is about no file
/// begins with `tool`, notes to another one excepted.
void print(llvm::raw_ostream &, const Diagnostic &, llvm::StringRef tool = "");
DiagnosticSink printingTo(llvm::raw_ostream &);

} // namespace skewer::language
