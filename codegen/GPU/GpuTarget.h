// The NVIDIA GPUs that Skewer makes code for, by the names that ptxas accepts, with the versions of PTX and CUDA that
// they need. Requests, ptxas and the launcher's tables read this one list.
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
  int64_t sharedBytes = 0; // shared memory that a block can have
};

llvm::ArrayRef<GpuTarget> knownGpuTargets();
std::optional<GpuTarget> findGpuTarget(llvm::StringRef name);
/// Returns the first CUDA with a version of PTX, in the numbers of cuDriverGetVersion (12080 is 12.8): PTX ISA, release
/// notes. PTX 7.0 came with CUDA 11.0, 8.0 with 12.0 and so on; CUDA 12.6 kept version 8.5.
constexpr uint32_t cudaOfPtx(uint32_t major, uint32_t minor) {
  return (major + 4) * 1000 + (major == 8 && minor > 5 ? minor + 1 : minor) * 10;
}
/// Returns "12.8" for 12080.
std::string textOfCuda(uint32_t version);
/// Returns the first CUDA whose ptxas knows the target and reads its PTX.
uint32_t firstCudaOf(const GpuTarget &);
/// Returns whether the name has the form of a GPU's name, known or not.
bool isGpuName(llvm::StringRef name);

} // namespace skewer::gpu
