// Makes an LLVM module of a scheduled kernel for one target: `compile` writes objects of it, and the commands run it.
// For a target with AMX the module has two codes, because a system may refuse the tiles.
#pragma once
#include "codegen/ABI/Dispatch.h"
#include "codegen/Compiler/Compilation.h"
#include "codegen/Compiler/Request.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer {

/// Receives the texts of modules on the way. `code` is empty for the first code, and the instructions of the second one
/// ("avx512").
struct ModuleTexts {
  std::function<bool(Emit)> wants;
  std::function<void(Emit, const std::string &code, std::string text)> add;
};

using LlvmModules = std::vector<std::unique_ptr<llvm::Module>>;

/// A kernel for one target: what the header and the manifest say of it, and the modules of its codes.
struct CodesForTarget {
  TargetVariant variant;
  LlvmModules modules;                                      // as they were translated: not optimised, not joined
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> scheduled; // level 3 of each code
};

/// Returns the codes of a kernel for the compilation's target, whose entries begin with `symbol`. `schedule` makes
/// level 3 (or level 1, for the generic path) for the compilation's target; it is called again with a target without
/// tiles if the first code has tiles. Without `texts`, the codes are for this process: nobody reads the details of
/// their manifest. Returns nothing after a diagnostic.
std::optional<CodesForTarget> codesForTarget(Compilation &, const Kernel &, const std::string &symbol,
                                             llvm::LLVMContext &,
                                             llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>()> schedule,
                                             const ModuleTexts *texts = nullptr);

/// Returns one optimised module of a variant's codes. It needs nothing of the Compilation, whose thread may go on with
/// other targets meanwhile.
llvm::Expected<std::unique_ptr<llvm::Module>> joinedModule(const TargetVariant &, LlvmModules, llvm::StringRef specHash,
                                                           llvm::LLVMContext &);

/// A kernel in this process.
struct ModuleInProcess {
  std::vector<CodesForTarget> all; // their modules are in `module`
  std::unique_ptr<llvm::Module> module;
};
/// Returns the module of a kernel in this process: for the compilation's target, or for all of `targets`, among which
/// its entries choose. Returns nothing after a diagnostic.
std::optional<ModuleInProcess> moduleInProcess(Compilation &, const Kernel &, llvm::LLVMContext &,
                                               llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>()> schedule);

} // namespace skewer
