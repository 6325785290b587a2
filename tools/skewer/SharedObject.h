// A kernel as a shared object, for programs that load it while they run.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace skewer::driver {

/// Links a kernel's objects with LLVM's linker. What is visible are the kernel's own entries, NAME and NAME_…; it needs
/// the C library and libm, nothing else. Errors: there is no linker, no folder for temporary files, or what the linker
/// says.
llvm::Expected<std::string> linkShared(const std::string &kernel, llvm::ArrayRef<llvm::StringRef> objects);

} // namespace skewer::driver
