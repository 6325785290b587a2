// LLVM's code generator for a target. Object files, in-process kernels and loaded objects share its settings.
#pragma once
#include "passes/Schedule/Target.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace skewer {
/// Returns the triple of this machine. Kernels are made for its architecture and calling convention.
llvm::Triple targetTriple();
llvm::TargetOptions targetOptions();
/// Registers LLVM's native back end, once.
void initializeBackEnd();
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Target &);
} // namespace skewer
