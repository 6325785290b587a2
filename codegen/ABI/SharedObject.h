// Makes a shared object of a kernel, for programs that load it at run time, such as Python. `compile` calls it.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace skewer {

/// Links a kernel's objects with LLVM's linker. Only the kernel's own entries, NAME and NAME_…, are visible. The shared
/// object needs only the C library and libm. Errors: there is no linker, no folder for temporary files, or the linker
/// fails with a message.
llvm::Expected<std::string> linkShared(const std::string &kernel, llvm::ArrayRef<llvm::StringRef> objects);

} // namespace skewer
