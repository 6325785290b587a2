// LLVM's code generator for a target, with the settings that object files and in-process kernels share.
#pragma once
#include "passes/Schedule/Target.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace skewer {
/// The triple of this machine: kernels are made for its architecture and calling convention.
llvm::Triple targetTriple();
llvm::TargetOptions targetOptions();
/// Registers LLVM's native back end; done once.
void initializeBackEnd();
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Target &);
} // namespace skewer
