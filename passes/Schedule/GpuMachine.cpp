// The GPUs that come with Skewer, and how many blocks a multiprocessor holds.
#include "passes/Schedule/GpuMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::gpu;

double GpuMachine::engineFlops(llvm::StringRef engine) const {
  for (const EngineRate &rate : engines)
    if (engine == rate.engine)
      return rate.flops;
  return 0;
}

/// Returns the descriptions that come with Skewer. The tests read all files, so none can have errors.
static const std::vector<GpuDescription> &descriptions() {
  static const std::vector<GpuDescription> all = [] {
    std::vector<GpuDescription> read;
    for (const MachineText &file : gpuMachineTexts()) {
      auto one = parseGpuDescription(file.text, std::string(file.name) + ".json");
      if (!one)
        llvm::report_fatal_error(one.takeError(), /*gen_crash_diag=*/false);
      read.push_back(std::move(*one));
    }
    return read;
  }();
  return all;
}

/// Returns the number of a target: 100 for "sm_100a".
static int64_t generationOf(llvm::StringRef target) {
  int64_t number = 0;
  target.drop_front(3).consumeInteger(10, number);
  return number;
}

llvm::ArrayRef<GpuMachine> skewer::gpu::knownGpuMachines() {
  static const std::vector<GpuMachine> machines = [] {
    std::vector<GpuMachine> named;
    for (const GpuDescription &description : descriptions())
      for (const std::string &target : description.targets) {
        named.push_back(description.machine);
        named.back().target = target;
      }
    std::sort(named.begin(), named.end(), [](const GpuMachine &a, const GpuMachine &b) {
      return std::pair(generationOf(a.target), a.target) < std::pair(generationOf(b.target), b.target);
    });
    return named;
  }();
  return machines;
}

std::optional<GpuMachine> skewer::gpu::findGpuMachine(llvm::StringRef target) {
  for (const GpuMachine &machine : knownGpuMachines())
    if (target == machine.target)
      return machine;
  return std::nullopt;
}

std::vector<GpuDevice> skewer::gpu::gpuDevicesOf(llvm::StringRef target) {
  for (const GpuDescription &description : descriptions())
    if (llvm::is_contained(description.targets, target))
      return description.devices;
  return {};
}

Occupancy skewer::gpu::occupancyOf(const GpuMachine &machine, int64_t threads, int64_t registers, int64_t sharedBytes) {
  // Warps get registers in units of 256. A block uses one KiB of shared memory in addition to its own, in units of 128
  // bytes (CUDA occupancy calculator).
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
