// The GPUs that the cost model knows.
#include "passes/Schedule/GpuMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace skewer::gpu;

/// Limits: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability". f32 instructions and
/// special functions: the same guide, table "Throughput of Native Arithmetic Instructions" (16 special functions on all
/// of them). Matrix products: the makers' data sheets divided by multiprocessors and boost clock (A100: 312 TFLOP/s;
/// A40: 150; L40S: 362; RTX 5090: 210, with sums of f32). Data sheets of Hopper state what wgmma reaches, 4096;
/// mma.sync reaches 62.9 % of it (Luo et al. 2024, arXiv:2402.13499). Nothing is published for mma.sync on sm_100:
/// Hopper's is taken. Shared memory: 32 banks of 4 bytes. L2: 5120 bytes a clock for the A100's 108 multiprocessors
/// (its white paper); the others are taken to have the same share each.
static std::vector<GpuMachine> makeMachines() {
  constexpr int64_t kBytes = 1024;
  auto machine = [](const char *target, int64_t shared, int64_t ofBlock, int64_t warps, int64_t blocks, double matrix,
                    double floats) {
    GpuMachine result;
    result.target = target;
    result.sharedBytes = shared * kBytes;
    result.blockSharedBytes = ofBlock * kBytes;
    result.warps = warps;
    result.blocks = blocks;
    result.matrixFlops = matrix;
    result.floats = floats;
    return result;
  };
  constexpr double kHopper = 4096 * 0.629;
  //              shared: of all, of a block; warps, blocks; matrix FLOPs, f32 instructions
  return {machine("sm_80", 164, 163, 64, 32, 2048, 64),      machine("sm_86", 100, 99, 48, 16, 1024, 128),
          machine("sm_87", 164, 163, 48, 16, 2048, 128),     machine("sm_89", 100, 99, 48, 24, 1024, 128),
          machine("sm_90", 228, 227, 64, 32, kHopper, 128),  machine("sm_90a", 228, 227, 64, 32, kHopper, 128),
          machine("sm_100", 228, 227, 64, 32, kHopper, 128), machine("sm_100a", 228, 227, 64, 32, kHopper, 128),
          machine("sm_120", 100, 99, 48, 24, 512, 128),      machine("sm_120a", 100, 99, 48, 24, 512, 128)};
}

llvm::ArrayRef<GpuMachine> skewer::gpu::knownGpuMachines() {
  static const std::vector<GpuMachine> machines = makeMachines();
  return machines;
}

std::optional<GpuMachine> skewer::gpu::findGpuMachine(llvm::StringRef target) {
  for (const GpuMachine &machine : knownGpuMachines())
    if (target == machine.target)
      return machine;
  return std::nullopt;
}

/// Multiprocessors, boost clock and memory: the makers' data sheets.
std::vector<GpuDevice> skewer::gpu::gpuDevicesOf(llvm::StringRef target) {
  static const GpuDevice devices[] = {{"A100 SXM 80 GB", "sm_80", 108, 1.41, 2039},
                                      {"A40", "sm_86", 84, 1.74, 696},
                                      {"L40S", "sm_89", 142, 2.52, 864},
                                      {"H100 SXM", "sm_90", 132, 1.83, 3350},
                                      {"H200 SXM", "sm_90", 132, 1.83, 4800},
                                      {"RTX 5090", "sm_120", 170, 2.41, 1792}};
  if (target.ends_with('a'))
    target = target.drop_back();
  std::vector<GpuDevice> found;
  for (const GpuDevice &device : devices)
    if (target == device.target)
      found.push_back(device);
  return found;
}

Occupancy skewer::gpu::occupancyOf(const GpuMachine &machine, int64_t threads, int64_t registers, int64_t sharedBytes) {
  // Registers are given to warps in portions of 256; a block takes a KiB of shared memory besides its own, in portions
  // of 128 bytes (CUDA occupancy calculator).
  int64_t warps = threads / 32;
  std::pair<int64_t, const char *> limits[] = {
      {registers ? machine.registers / (int64_t(llvm::alignTo(registers * 32, 256)) * warps) : INT64_MAX, "registers"},
      {machine.sharedBytes / int64_t(llvm::alignTo(sharedBytes, 128) + 1024), "shared memory"},
      {machine.warps / warps, "warps"},
      {machine.blocks, "blocks"}};
  auto least = *std::min_element(std::begin(limits), std::end(limits),
                                 [](const auto &a, const auto &b) { return a.first < b.first; });
  return {least.first, least.first * warps, least.second};
}
