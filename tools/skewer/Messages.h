// Where the compiler says what is wrong, and prints what it was asked for: the process's streams, or memory.
#pragma once
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// Errors, warnings and notes: standard error, unless this thread has said otherwise.
llvm::raw_ostream &messages();
/// What a command prints: standard output, unless this thread has said otherwise.
llvm::raw_ostream &printed();

/// Takes this thread's messages and prints while it lives. A library must not write to its user's streams, and its
/// threads must not read each other's messages.
class StreamsTo {
public:
  StreamsTo(llvm::raw_ostream &messages, llvm::raw_ostream &printed);
  ~StreamsTo();
  StreamsTo(const StreamsTo &) = delete;
  StreamsTo &operator=(const StreamsTo &) = delete;

private:
  llvm::raw_ostream *outerMessages, *outerPrinted;
};

} // namespace skewer::driver
