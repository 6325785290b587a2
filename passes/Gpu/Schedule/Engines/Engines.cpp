// The list of engines that scheduling knows.
#include "passes/Gpu/Schedule/GpuEngine.h"

namespace skewer::gpu {

llvm::ArrayRef<const GpuEngine *> gpuEngines() {
  static const GpuEngine *const engines[] = {&mmaSyncEngine(), &wgmmaEngine(), &wgmmaAheadEngine()};
  return engines;
}

const GpuEngine *findGpuEngine(llvm::StringRef name) {
  for (const GpuEngine *engine : gpuEngines())
    if (engine->name() == name)
      return engine;
  return nullptr;
}

std::string engineNames(const GpuMachine &machine) {
  std::string names;
  for (const GpuEngine *engine : gpuEngines())
    if (engine->fits(machine))
      names += (names.empty() ? "" : ", ") + engine->name().str();
  return names;
}

} // namespace skewer::gpu
