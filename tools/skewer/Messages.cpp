// Sends the output of each thread to its own stream.
#include "tools/skewer/Messages.h"
#include "tools/skewer/Progress.h"

namespace skewer::driver {

static thread_local llvm::raw_ostream *printedOfThread = nullptr;

llvm::raw_ostream &printed() {
  if (printedOfThread)
    return *printedOfThread;
  clearProgress();
  return llvm::outs();
}

StreamsTo::StreamsTo(language::DiagnosticSink said, llvm::raw_ostream &printed)
    : diagnostics(std::move(said)), outerPrinted(printedOfThread) {
  printedOfThread = &printed;
}

StreamsTo::~StreamsTo() { printedOfThread = outerPrinted; }

} // namespace skewer::driver
