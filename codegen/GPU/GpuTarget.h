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
/// The CUDA that first had a version of PTX, as cuDriverGetVersion counts (12080 is 12.8): PTX ISA, release notes. PTX
/// 7.0 came with CUDA 11.0, 8.0 with 12.0 and so on; CUDA 12.6 kept version 8.5.
constexpr uint32_t cudaOfPtx(uint32_t major, uint32_t minor) {
  return (major + 4) * 1000 + (major == 8 && minor > 5 ? minor + 1 : minor) * 10;
}
/// "12.8".
std::string textOfCuda(uint32_t version);
/// The first CUDA whose ptxas knows the target and reads its PTX.
uint32_t firstCudaOf(const GpuTarget &);
/// Whether the name is meant to be one of a GPU, known or not.
bool isGpuName(llvm::StringRef name);

} // namespace skewer::gpu
