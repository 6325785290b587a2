// What a user reads of a command line that llvm::cl refuses.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace skewer::driver {

/// Says each of llvm::cl's errors, a line each, in the driver's words: the option, what was expected and what was found.
/// `command`: whose --help lists the options; empty: the overview.
void sayOptionErrors(llvm::StringRef text, llvm::StringRef command);

} // namespace skewer::driver
