// One kernel for several processors: the entries of docs/abi.md that choose at run time among objects, each of which is
// made for one processor. `skewer compile` calls this for several targets.
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

/// One of the objects: its names and its contents.
struct TargetVariant {
  Target target;
  std::string symbol;  // of its entry, "botnet_x86_64_v4"; prefix of the other entries
  std::string object;  // the file, "botnet.x86-64-v4.o"
  KernelPlan plan;     // `plan.name` is `symbol`
  std::string details; // for the manifest: JSON
  bool usesTiles = false;
};

/// Returns a processor's name as part of a symbol: "x86_64_v4".
std::string symbolSuffix(llvm::StringRef target);
/// Returns the order in which processors are tried: wider vectors first, then as given.
std::vector<Target> inOrderOfChoice(llvm::ArrayRef<Target>);

/// Returns a module with NAME, NAME_raw, NAME_phases, NAME_items, NAME_workspace_bytes and NAME_info. They call the
/// entries of the first variant whose code the running processor supports. If there is none, they call the last
/// variant, which then returns SKEWER_UNSUPPORTED_CPU. The module itself runs on every x86-64 processor.
llvm::Expected<std::unique_ptr<llvm::Module>> dispatcherModule(llvm::StringRef name,
                                                               llvm::ArrayRef<TargetVariant> variants,
                                                               llvm::StringRef info, llvm::LLVMContext &);
/// Returns the processor that the dispatcher itself is compiled for.
Target dispatcherTarget();

/// Return the header and the manifest for all variants.
std::string headerText(llvm::StringRef name, llvm::ArrayRef<TargetVariant> variants, llvm::StringRef specHash,
                       llvm::ArrayRef<CudaImage> = {});
std::string manifestText(llvm::StringRef name, llvm::ArrayRef<TargetVariant> variants, llvm::StringRef specHash);

} // namespace skewer
