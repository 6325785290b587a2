// The list of a processor's engines that scheduling knows, and how many groups of rows an engine multiplies at once.
#include "passes/Schedule/CpuEngine.h"
#include "llvm/ADT/STLExtras.h"

namespace skewer {

const CpuEngineCost &fmaCost();
const CpuEngineCost &bf16DotCost();
const CpuEngineCost &int8DotCost();
const CpuEngineCost &amxCost();
const CpuEngineCost &amxInt8Cost();

llvm::ArrayRef<const CpuEngineCost *> cpuEngines() {
  static const CpuEngineCost *const engines[] = {&fmaCost(), &bf16DotCost(), &int8DotCost(), &amxCost(),
                                                 &amxInt8Cost()};
  return engines;
}

int64_t CpuEngineCost::groupsTogether(int64_t tileRows, int64_t vectors, int64_t rowBlock, const Target &target) const {
  for (int64_t groups = rowsInMemory() / tileRows; groups > 1; --groups)
    if (int64_t together = groups * tileRows; rowBlock % together == 0 && holds(together, vectors, target))
      return groups;
  return 1;
}

const CpuEngineCost &cpuEngine(llvm::StringRef name) {
  return **llvm::find_if(cpuEngines(), [&](const CpuEngineCost *engine) { return engine->name() == name; });
}

static const CpuEngineCost &fastestFor(ElementType element, const Target &target, bool mayBeIntegers) {
  const CpuEngineCost *best = cpuEngines().front();
  for (const CpuEngineCost *engine : cpuEngines().drop_front())
    if (engine->fits(element, target) && (mayBeIntegers || !engine->sumsIntegers()) &&
        engine->products(target) > best->products(target))
      best = engine;
  return *best;
}

const CpuEngineCost &cpuEngineFor(ElementType element, const Target &target) {
  return fastestFor(element, target, false);
}

const CpuEngineCost &contentEngineFor(ElementType element, int64_t depth, const Target &target) {
  constexpr int64_t kLargestProduct = 128 * 128; // of two integers of 8 bits
  return fastestFor(element, target, depth <= INT32_MAX / kLargestProduct);
}

const CpuEngineCost &widestVectorsFor(ElementType element, const Target &target) {
  const CpuEngineCost *widest = cpuEngines().front();
  for (const CpuEngineCost *engine : cpuEngines().drop_front())
    if (!engine->rowsInMemory() && !engine->sumsIntegers() && engine->fits(element, target) &&
        engine->elementsOfStep() > widest->elementsOfStep())
      widest = engine;
  return *widest;
}

double productsOverFma(ElementType element, const Target &target) {
  return cpuEngineFor(element, target).products(target) / cpuEngines().front()->products(target);
}

const CpuEngineCost &cpuEngineOf(const WeighedValues &values, int64_t rows, const Target &target) {
  const CpuEngineCost &engine = cpuEngineFor(values.element, target);
  bool arePacked = values.areRows && !values.areChanged && !values.areInPlace && !values.areOfPhases;
  bool fits = engine.takesWeights() && values.result == values.element && engine.holds(rows, 1, target);
  return arePacked && fits ? engine : *cpuEngines().front();
}

} // namespace skewer
