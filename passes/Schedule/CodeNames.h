// The names of processors and features that LLVM's code generator knows for the architecture of this machine.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include <memory>
#include <string>

namespace skewer {

class CodeNames {
public:
  CodeNames();
  ~CodeNames();
  /// Return whether LLVM knows the name; true if LLVM has no code generator for this machine, which is reported
  /// elsewhere.
  bool isCpu(llvm::StringRef) const;
  bool isFeature(llvm::StringRef) const;
  /// "x86-64", "aarch64".
  std::string architecture() const;

private:
  std::unique_ptr<llvm::MCSubtargetInfo> info;
};

} // namespace skewer
