// What a call of the library came to: everything that a user of the C API can ask for afterwards.
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

  /// The answer of a call that says and prints what `call` does, in this thread; `call` returns the status.
  static skewer_answer *of(llvm::function_ref<int32_t(skewer_answer &)> call);
};
