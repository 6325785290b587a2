// The C entries of a kernel, built as LLVM IR around its phase functions. `toLlvmModule` (Emit.h) adds them.
#pragma once
#include "codegen/ABI/Layout.h"
#include "passes/Schedule/Target.h"
#include "llvm/IR/Module.h"

namespace skewer {
/// Adds NAME, NAME_raw, NAME_phases, NAME_items, NAME_workspace_bytes and NAME_info to the module. `phases` holds the
/// function of each phase, with the signature of KernelPlan.h in flat LLVM form (`checkPhase`). The plan has been
/// validated. NAME and NAME_raw first check that the processor has the target's features. `argsVersion` is the version
/// that an argument struct must state (`argsVersionOf`).
void addEntries(llvm::Module &, const KernelPlan &, llvm::ArrayRef<llvm::Function *> phases, llvm::StringRef info,
                const Target &, uint32_t argsVersion);

/// Returns an error unless the function takes a phase's arguments: two pointers, offset, size and stride for each flat
/// memref, and an i64 for each index.
llvm::Error checkPhase(const KernelPlan &, const Phase &, llvm::Function *);
} // namespace skewer
