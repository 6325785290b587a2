// Whether the processor that runs a kernel has what its code was made for.
#pragma once
#include "passes/Schedule/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace skewer {

/// Adds `i1 NAME.cpu()`: cpuid and xgetbv on the first call, then a byte that remembers the answer (cpuid takes many
/// microseconds in a virtual machine). Null where the target asks for nothing beyond x86-64 that the check knows of.
llvm::Function *addCpuCheck(llvm::Module &, llvm::StringRef name, const Target &);

/// Functions that run before the check are made for any x86-64.
void makeBaseline(llvm::Function &);
bool isBaseline(const llvm::Function &);

} // namespace skewer
