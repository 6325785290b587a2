// The names that a kernel, or a field of its argument struct, must not have, because C, C++ or a library uses them.
// Layout.h renames such fields; a kernel with such a name is an error (KernelNames.cpp).
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace skewer {

/// Returns whether a struct field must not have this name in C99 or C++20: keywords, names reserved for the
/// implementation, and macros and types of headers that a kernel's header includes or may be included together with.
bool isTakenField(llvm::StringRef name);

/// Returns why a kernel must not have this name: "the name …; choose another". Empty if it may.
std::string whyNoKernel(llvm::StringRef name);

/// Returns the names that a kernel's header and object declare: the kernel's name, alone and with each suffix of
/// docs/abi.md. Two kernels of one program must not share any of them.
std::vector<std::string> declaredNames(llvm::StringRef kernel);

} // namespace skewer
