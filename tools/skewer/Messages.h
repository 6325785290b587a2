// Diagnostics and printed output of the compiler: both go to the process's streams, or into memory.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// Reports a diagnostic: prints it to standard error, unless this thread has a StreamsTo.
void say(language::Diagnostic);
/// Reports a message about the request, without a file.
void sayError(const llvm::Twine &);
void sayWarning(const llvm::Twine &);
void sayNote(const llvm::Twine &);
/// Reports an error about a file as a whole.
void sayErrorOf(llvm::StringRef file, const llvm::Twine &);
/// Reports the error at its place in a machine file if it is an error of one; otherwise like the other `sayError`.
void sayError(llvm::Error);

/// Prints a diagnostic in the form that standard error shows.
void printMessage(llvm::raw_ostream &, const language::Diagnostic &);

/// Returns the stream for a command's output: standard output, unless this thread has a StreamsTo.
llvm::raw_ostream &printed();

/// Redirects the diagnostics and the output of this thread during its lifetime. A library must not write to its user's
/// streams, and its threads must not read each other's messages.
class StreamsTo {
public:
  StreamsTo(language::DiagnosticSink said, llvm::raw_ostream &printed);
  ~StreamsTo();
  StreamsTo(const StreamsTo &) = delete;
  StreamsTo &operator=(const StreamsTo &) = delete;

private:
  language::DiagnosticSink sink;
  language::DiagnosticSink *outerSink;
  llvm::raw_ostream *outerPrinted;
};

} // namespace skewer::driver
