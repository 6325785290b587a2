// Reports diagnostics of the compiler: to standard error, or to the sink that the caller has set for this thread. All
// files of codegen/Compiler and the commands of tools/skewer report through it.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer {

/// Reports a diagnostic: prints it to standard error, unless this thread has a DiagnosticsTo.
void say(language::Diagnostic);
/// Reports a message about the request, without a file.
void sayError(const llvm::Twine &);
void sayWarning(const llvm::Twine &);
void sayNote(const llvm::Twine &);
/// Reports an error about a file as a whole.
void sayErrorOf(llvm::StringRef file, const llvm::Twine &);
/// Reports an error of a machine file at its place there; reports other errors like the other `sayError`.
void sayError(llvm::Error);

/// Prints a diagnostic in the form that standard error shows.
void printMessage(llvm::raw_ostream &, const language::Diagnostic &);
/// Sets a function that runs before a diagnostic is printed to standard error: a program that shows a line of its own
/// there removes it.
void beforePrinting(void (*prepare)());

/// Sends the diagnostics of this thread to a sink during its lifetime. Threads do not read each other's diagnostics.
class DiagnosticsTo {
public:
  explicit DiagnosticsTo(language::DiagnosticSink);
  ~DiagnosticsTo();
  DiagnosticsTo(const DiagnosticsTo &) = delete;
  DiagnosticsTo &operator=(const DiagnosticsTo &) = delete;

private:
  language::DiagnosticSink sink;
  language::DiagnosticSink *outer;
};

} // namespace skewer
