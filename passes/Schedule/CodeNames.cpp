// Looks names up in the tables of LLVM's native back end.
#include "passes/Schedule/CodeNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace skewer;

CodeNames::CodeNames() {
  llvm::InitializeNativeTarget();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string why;
  if (const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why))
    info.reset(target->createMCSubtargetInfo(triple, "", ""));
}
CodeNames::~CodeNames() = default;

bool CodeNames::isCpu(llvm::StringRef name) const {
  return !info || llvm::any_of(info->getAllProcessorDescriptions(),
                               [&](const llvm::SubtargetSubTypeKV &known) { return name == known.Key; });
}

bool CodeNames::isFeature(llvm::StringRef name) const {
  return !info || llvm::any_of(info->getAllProcessorFeatures(),
                               [&](const llvm::SubtargetFeatureKV &known) { return name == known.Key; });
}

std::string CodeNames::architecture() const { return llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str(); }
