// The C entries of a kernel, built as LLVM IR around its phase functions.
#pragma once
#include "codegen/ABI/Layout.h"
#include "passes/Schedule/Target.h"
#include "llvm/IR/Module.h"

namespace skewer {
/// Adds NAME, NAME_raw, NAME_phases, NAME_items, NAME_workspace_bytes and NAME_info to the module. `phases`: the
/// function of each phase, with the signature of KernelPlan.h in flat LLVM form (`checkPhase`). The plan has been
/// validated. NAME and NAME_raw look first whether the processor has what the target promises. `argsVersion`: what an
/// argument struct has to say (`argsVersionOf`).
void addEntries(llvm::Module &, const KernelPlan &, llvm::ArrayRef<llvm::Function *> phases, llvm::StringRef info,
                const Target &, uint32_t argsVersion);

/// Whether the function takes a phase's arguments: for each flat memref two pointers, offset, size and stride; for each
/// index an i64.
llvm::Error checkPhase(const KernelPlan &, const Phase &, llvm::Function *);
} // namespace skewer
