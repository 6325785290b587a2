// One message about a specification as data, and the function that prints it.
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
  std::string file = {};           // empty: the message is about no file
  unsigned line = 0, column = 0;   // from 1, the column in bytes; 0: unknown, the message is about the whole file
  std::string source = {};         // the line as a terminal can show it; of a long line, the part around the place
  unsigned before = 0, length = 0; // character counts of `source` before the place and in it; 0: the line is unknown
  bool isAttached = false;         // a note that belongs to the previous diagnostic
};

/// Receives diagnostics one by one, in order.
using DiagnosticSink = std::function<void(Diagnostic)>;

/// Returns a diagnostic at a piece of one of the buffers. If `place` is in none of them, for example an empty StringRef
/// without a pointer, the diagnostic is about no file.
Diagnostic diagnosticAt(const llvm::SourceMgr &, llvm::StringRef place, Severity, std::string text);

/// Prints in the style of a compiler: "FILE:LINE:COLUMN: error: TEXT", the line, a caret and an underline. A diagnostic
/// about no file begins with `tool`, unless it is a note to another one.
void print(llvm::raw_ostream &, const Diagnostic &, llvm::StringRef tool = "");
DiagnosticSink printingTo(llvm::raw_ostream &);

} // namespace skewer::language
