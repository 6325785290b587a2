// The NVIDIA GPUs that code is made for, by the names that ptxas takes.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace skewer::gpu {

struct GpuTarget {
  std::string name;        // "sm_80", "sm_90a"
  std::string features;    // PTX version, for LLVM's code generator
  int64_t sharedBytes = 0; // most that a block may have
};

llvm::ArrayRef<GpuTarget> knownGpuTargets();
std::optional<GpuTarget> findGpuTarget(llvm::StringRef name);
/// Whether the name is meant to be one of a GPU, known or not.
bool isGpuName(llvm::StringRef name);

} // namespace skewer::gpu
