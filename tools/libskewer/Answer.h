// The answer of a library call: everything that a user of the C API can query afterwards. Requests.cpp and Loaded.cpp
// make it.
#pragma once
#include "tools/libskewer/skewer.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/STLFunctionalExtras.h"

struct skewer_answer {
  int32_t status = SKEWER_ANSWER_DONE;
  std::string text, messages;
  std::vector<skewer::language::Diagnostic> diagnostics;
  std::vector<skewer::driver::OutputFile> files;

  /// Runs `call` in this thread and returns an answer with its messages and its output. `call` returns the status.
  static skewer_answer *of(llvm::function_ref<int32_t(skewer_answer &)> call);
};
