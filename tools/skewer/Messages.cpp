// Keeps the diagnostics and the output of each thread apart.
#include "tools/skewer/Messages.h"
#include "passes/Schedule/Machine.h"
#include "tools/skewer/Progress.h"

using skewer::language::Diagnostic;
using skewer::language::Severity;

namespace skewer::driver {

static thread_local language::DiagnosticSink *sinkOfThread = nullptr;
static thread_local llvm::raw_ostream *printedOfThread = nullptr;

void say(Diagnostic diagnostic) {
  if (sinkOfThread)
    (*sinkOfThread)(std::move(diagnostic));
  else {
    clearProgress();
    printMessage(llvm::errs(), diagnostic);
  }
}

void sayError(const llvm::Twine &text) { say({Severity::Error, text.str()}); }
void sayWarning(const llvm::Twine &text) { say({Severity::Warning, text.str()}); }
void sayNote(const llvm::Twine &text) { say({Severity::Note, text.str()}); }
void sayErrorOf(llvm::StringRef file, const llvm::Twine &text) { say({Severity::Error, text.str(), file.str()}); }

void sayError(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [](const MachineError &wrong) { say({Severity::Error, wrong.message, wrong.file, wrong.line, wrong.column}); },
      [](const llvm::ErrorInfoBase &other) { sayError(other.message()); });
}

void printMessage(llvm::raw_ostream &out, const Diagnostic &diagnostic) { language::print(out, diagnostic, "skewer"); }

llvm::raw_ostream &printed() {
  if (printedOfThread)
    return *printedOfThread;
  clearProgress();
  return llvm::outs();
}

StreamsTo::StreamsTo(language::DiagnosticSink said, llvm::raw_ostream &printed)
    : sink(std::move(said)), outerSink(sinkOfThread), outerPrinted(printedOfThread) {
  sinkOfThread = &sink;
  printedOfThread = &printed;
}

StreamsTo::~StreamsTo() {
  sinkOfThread = outerSink;
  printedOfThread = outerPrinted;
}

} // namespace skewer::driver
