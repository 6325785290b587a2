// Sends the diagnostics of each thread to its own sink, and formats them.
#include "codegen/Compiler/Messages.h"
#include "passes/Schedule/Machine.h"

namespace skewer {
using language::Diagnostic;
using language::Severity;

static thread_local language::DiagnosticSink *sinkOfThread = nullptr;
static void (*prepareToPrint)() = [] {};

void say(Diagnostic diagnostic) {
  if (sinkOfThread)
    (*sinkOfThread)(std::move(diagnostic));
  else {
    prepareToPrint();
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

void beforePrinting(void (*prepare)()) { prepareToPrint = prepare; }

DiagnosticsTo::DiagnosticsTo(language::DiagnosticSink said) : sink(std::move(said)), outer(sinkOfThread) {
  sinkOfThread = &sink;
}

DiagnosticsTo::~DiagnosticsTo() { sinkOfThread = outer; }

} // namespace skewer
