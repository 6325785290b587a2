// One kernel with several codes: the entries of docs/abi.md that choose at run time. They choose among objects, each of
// which is made for one processor, and in the object of a processor with AMX between code with tiles and code without.
#pragma once
#include "codegen/ABI/Tiles.h"
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

/// One of the two codes for a target with AMX, with tiles or without.
struct TargetCode {
  std::string name; // "emeraldrapids/amx", "emeraldrapids/avx512"
  TileUse tiles = TileUse::None;
  KernelPlan plan;     // the names of its entries begin with `plan.name`
  std::string details; // for the manifest: JSON
};

/// One of the objects: its names and its contents.
struct TargetVariant {
  Target target;
  std::string symbol;            // of its entry, "botnet_x86_64_v4"; prefix of the other entries
  std::string object;            // the file, "botnet.x86-64-v4.o"
  KernelPlan plan;               // `plan.name` is `symbol`; of several codes, the first one's
  std::string details;           // for the manifest: JSON
  std::vector<TargetCode> codes; // the code with tiles and the one without; empty if there are no tiles
};

/// Returns the instructions that the code for a target computes with: "amx", "avx512".
llvm::StringRef instructionsOf(const Target &, TileUse = TileUse::None);
/// Returns the name of a code: its target and its instructions, "x86-64-v3/avx2".
std::string codeName(const Target &, TileUse = TileUse::None);

/// Returns a processor's name as part of a symbol: "x86_64_v4".
std::string symbolSuffix(llvm::StringRef target);
/// Returns the order in which processors are tried: wider vectors first, then more features, then tiles, then as given.
/// So a target is never hidden by one whose code its processors also run.
std::vector<Target> inOrderOfChoice(llvm::ArrayRef<Target>);

/// Returns a module with NAME, NAME_raw, NAME_phases, NAME_items, NAME_workspace_bytes, NAME_code and NAME_info. They
/// call the entries of the first variant whose code the running processor supports. If there is none, they call the
/// last variant, which then returns SKEWER_UNSUPPORTED_CPU. The module itself runs on every x86-64 processor.
llvm::Expected<std::unique_ptr<llvm::Module>> dispatcherModule(llvm::StringRef name,
                                                               llvm::ArrayRef<TargetVariant> variants,
                                                               llvm::StringRef info, llvm::LLVMContext &);
/// Returns a module with the same entries for a variant with two codes. They call the code with tiles if the processor
/// and the system let it run, and otherwise the other one. `modules` are those of the codes, in their order; nothing of
/// them is visible but the entries.
llvm::Expected<std::unique_ptr<llvm::Module>> joinCodes(const TargetVariant &,
                                                        std::vector<std::unique_ptr<llvm::Module>> modules,
                                                        llvm::StringRef info, llvm::LLVMContext &);
/// Returns one module of a dispatcher and the modules of its variants, in which only the dispatcher's entries are
/// visible.
llvm::Expected<std::unique_ptr<llvm::Module>> joinModules(std::unique_ptr<llvm::Module> dispatcher,
                                                          std::vector<std::unique_ptr<llvm::Module>> modules);
/// Returns the processor that the dispatcher itself is compiled for.
Target dispatcherTarget();

/// Return the header and the manifest for all variants.
std::string headerText(llvm::StringRef name, llvm::ArrayRef<TargetVariant> variants, llvm::StringRef specHash,
                       llvm::ArrayRef<CudaImage> = {});
std::string manifestText(llvm::StringRef name, llvm::ArrayRef<TargetVariant> variants, llvm::StringRef specHash);
/// Return the header and the manifest of an object for one target.
std::string headerText(const TargetVariant &, llvm::StringRef specHash, llvm::ArrayRef<CudaImage> = {});
std::string manifestText(const TargetVariant &, llvm::StringRef specHash);
/// Returns the variant without the details of its schedules: NAME_info() describes calls.
TargetVariant withoutDetails(TargetVariant);

} // namespace skewer
