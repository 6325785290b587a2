// Which names a kernel, and a field of its argument struct, cannot have.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace skewer {

/// Whether a field of a struct cannot be called so in C99 or C++20: keywords, what belongs to the implementation, and
/// macros and types of the headers that a kernel's header includes or is included beside.
bool isTakenField(llvm::StringRef name);

/// Why a kernel cannot be called so: "the name …; choose another". Empty where it can.
std::string whyNoKernel(llvm::StringRef name);

/// The names that a kernel's header and object declare: its own, and that with each suffix of docs/abi.md. Two kernels of
/// one program have none in common.
std::vector<std::string> declaredNames(llvm::StringRef kernel);

} // namespace skewer
