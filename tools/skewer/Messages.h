// What the compiler has to say, as diagnostics, and what it prints: to the process's streams, or into memory.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// Says it: printed to standard error, unless this thread has said otherwise.
void say(language::Diagnostic);
/// About what was asked for, and about no file.
void sayError(const llvm::Twine &);
void sayWarning(const llvm::Twine &);
void sayNote(const llvm::Twine &);
/// About a file as a whole.
void sayErrorOf(llvm::StringRef file, const llvm::Twine &);
/// At its place in a machine file, where it is an error of one; else as `sayError`.
void sayError(llvm::Error);

/// As standard error shows it.
void printMessage(llvm::raw_ostream &, const language::Diagnostic &);

/// What a command prints: standard output, unless this thread has said otherwise.
llvm::raw_ostream &printed();

/// Takes this thread's diagnostics and prints while it lives. A library must not write to its user's streams, and its
/// threads must not read each other's messages.
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
