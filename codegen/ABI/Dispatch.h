// One kernel for several processors: the entries of docs/abi.md that choose, at run time, among those of objects that
// were made for one processor each.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "passes/Schedule/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace skewer {
struct CudaImage;

/// What one of the objects is called and holds.
struct TargetVariant {
  Target target;
  std::string symbol;  // of its entry, "botnet_x86_64_v4"; the others are called after it
  std::string object;  // the file, "botnet.x86-64-v4.o"
  KernelPlan plan;     // `plan.name` is `symbol`
  std::string details; // for the manifest: JSON
};

/// "x86_64_v4": a processor's name as part of a symbol.
std::string symbolSuffix(llvm::StringRef target);
/// The order in which processors are asked for: wider vectors first, then as given.
std::vector<Target> inOrderOfChoice(llvm::ArrayRef<Target>);

/// NAME, NAME_raw, NAME_phases, NAME_items, NAME_workspace_bytes and NAME_info, which call those of the first variant
/// whose processor this one can stand for; of the last one where there is none, which then says SKEWER_UNSUPPORTED_CPU.
/// Runs on every x86-64 processor.
llvm::Expected<std::unique_ptr<llvm::Module>> dispatcherModule(llvm::StringRef name,
                                                               llvm::ArrayRef<TargetVariant> variants,
                                                               llvm::StringRef info, llvm::LLVMContext &);
/// The processor that the dispatcher itself is made for.
Target dispatcherTarget();

/// The header and the manifest of all of them.
std::string headerText(llvm::StringRef name, llvm::ArrayRef<TargetVariant> variants, llvm::StringRef specHash,
                       llvm::ArrayRef<CudaImage> = {});
std::string manifestText(llvm::StringRef name, llvm::ArrayRef<TargetVariant> variants, llvm::StringRef specHash);

} // namespace skewer
