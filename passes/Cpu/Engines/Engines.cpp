// The list of engines that have code.
#include "passes/Cpu/Engine.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace skewer;

const CpuEngine &bf16DotEngine();

const CpuEngine &skewer::engineFor(ElementType element, const Target &target) {
  const CpuEngineCost &cost = cpuEngineFor(element, target);
  for (const CpuEngine *engine : {&fmaEngine(), &bf16DotEngine()})
    if (&engine->cost == &cost)
      return *engine;
  llvm_unreachable("an engine without code");
}

void CpuEngine::multiplyInto(VectorBuilder &b, const TileProduct &product, const ProductOperand &target) const {
  SmallVector<Value> places;
  for (int64_t r = 0; r < product.tile.rows; ++r)
    for (int64_t v = 0; v < product.tile.vectors; ++v)
      places.push_back(b.add(target.base, r * target.stride + v * b.lanes));
  for (auto [sum, place] : llvm::zip(multiply(b, product, {target.memory, places}), places))
    b.store(sum, target.memory, place);
}
