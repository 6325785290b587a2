// Lists the NVIDIA GPUs that have a machine file (passes/Schedule/GpuMachine.h).
#include "codegen/GPU/GpuTarget.h"
#include "passes/Schedule/GpuMachine.h"

using namespace skewer::gpu;

/// Returns the first PTX version that knows the target (PTX ISA, release notes), at least 8.0.
static llvm::StringRef featuresOf(llvm::StringRef name) {
  return name.starts_with("sm_10") ? "+ptx86" : name.starts_with("sm_12") ? "+ptx87" : "+ptx80";
}

llvm::ArrayRef<GpuTarget> skewer::gpu::knownGpuTargets() {
  static const std::vector<GpuTarget> targets = [] {
    std::vector<GpuTarget> result;
    for (const GpuMachine &machine : knownGpuMachines())
      result.push_back({machine.target, featuresOf(machine.target).str(), machine.blockSharedBytes});
    return result;
  }();
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
