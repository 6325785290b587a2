// The streams of each thread.
#include "tools/skewer/Messages.h"

namespace skewer::driver {

static thread_local llvm::raw_ostream *messagesOfThread = nullptr, *printedOfThread = nullptr;

llvm::raw_ostream &messages() { return messagesOfThread ? *messagesOfThread : llvm::errs(); }
llvm::raw_ostream &printed() { return printedOfThread ? *printedOfThread : llvm::outs(); }

StreamsTo::StreamsTo(llvm::raw_ostream &messages, llvm::raw_ostream &printed)
    : outerMessages(messagesOfThread), outerPrinted(printedOfThread) {
  messagesOfThread = &messages;
  printedOfThread = &printed;
}

StreamsTo::~StreamsTo() {
  messagesOfThread = outerMessages;
  printedOfThread = outerPrinted;
}

} // namespace skewer::driver
