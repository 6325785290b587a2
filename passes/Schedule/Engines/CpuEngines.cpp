// The list of a processor's engines that scheduling knows.
#include "passes/Schedule/CpuEngine.h"
#include "llvm/ADT/STLExtras.h"

namespace skewer {

const CpuEngineCost &fmaCost();
const CpuEngineCost &bf16DotCost();
const CpuEngineCost &amxCost();

llvm::ArrayRef<const CpuEngineCost *> cpuEngines() {
  static const CpuEngineCost *const engines[] = {&fmaCost(), &bf16DotCost(), &amxCost()};
  return engines;
}

const CpuEngineCost &cpuEngine(llvm::StringRef name) {
  return **llvm::find_if(cpuEngines(), [&](const CpuEngineCost *engine) { return engine->name() == name; });
}

const CpuEngineCost &cpuEngineFor(ElementType element, const Target &target) {
  const CpuEngineCost *best = cpuEngines().front();
  for (const CpuEngineCost *engine : cpuEngines().drop_front())
    if (engine->fits(element, target) && engine->products(target) > best->products(target))
      best = engine;
  return *best;
}

} // namespace skewer
