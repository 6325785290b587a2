// The NVIDIA GPUs that code is made for.
#include "codegen/GPU/GpuTarget.h"
#include "llvm/ADT/STLExtras.h"

using namespace skewer::gpu;

/// Shared memory: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", maximum amount
/// for a thread block. PTX versions: the first that knows the target (PTX ISA, release notes), at least 8.0.
llvm::ArrayRef<GpuTarget> skewer::gpu::knownGpuTargets() {
  static const std::vector<GpuTarget> targets = {
      {"sm_80", "+ptx80", 163 << 10},  {"sm_86", "+ptx80", 99 << 10},    {"sm_87", "+ptx80", 163 << 10},
      {"sm_89", "+ptx80", 99 << 10},   {"sm_90", "+ptx80", 227 << 10},   {"sm_90a", "+ptx80", 227 << 10},
      {"sm_100", "+ptx86", 227 << 10}, {"sm_100a", "+ptx86", 227 << 10}, {"sm_120", "+ptx87", 99 << 10},
      {"sm_120a", "+ptx87", 99 << 10},
  };
  return targets;
}

std::optional<GpuTarget> skewer::gpu::findGpuTarget(llvm::StringRef name) {
  for (const GpuTarget &target : knownGpuTargets())
    if (name == target.name)
      return target;
  return std::nullopt;
}

std::string skewer::gpu::textOfCuda(uint32_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

uint32_t skewer::gpu::firstCudaOf(const GpuTarget &target) {
  unsigned version = 0; // "+ptx87"
  llvm::StringRef(target.features).substr(4).getAsInteger(10, version);
  return cudaOfPtx(version / 10, version % 10);
}

bool skewer::gpu::isGpuName(llvm::StringRef name) { return name.starts_with("sm_"); }
