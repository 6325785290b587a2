// The printed output of a command, and its diagnostics: both go to the process's streams, or into memory if the C API
// calls the command.
#pragma once
#include "codegen/Compiler/Messages.h"

namespace skewer::driver {

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
  DiagnosticsTo diagnostics;
  llvm::raw_ostream *outerPrinted;
};

} // namespace skewer::driver
