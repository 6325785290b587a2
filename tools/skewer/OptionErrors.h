// Rewrites the errors of llvm::cl about a command line in the driver's words, with the expected and the found value.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace skewer::driver {

/// Prints each error of llvm::cl, one on a line, in the driver's words: the option, the expected and the found value.
/// `command` is the one whose --help lists the options; empty: the overview.
void sayOptionErrors(llvm::StringRef text, llvm::StringRef command);

} // namespace skewer::driver
