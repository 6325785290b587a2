// The list of engines that have code.
#include "passes/Cpu/Engines/VectorEngine.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace skewer;

const VectorEngine &fmaVectors();
const VectorEngine &bf16DotVectors();
const CpuEngine &int8DotVectors();
const CpuEngine &amxTiles();
const CpuEngine &amxInt8Tiles();

const CpuEngine &skewer::fmaEngine() { return fmaVectors(); }

const CpuEngine &skewer::engineFor(ElementType element, const Target &target) {
  return engineOfCost(cpuEngineFor(element, target));
}

const CpuEngine &skewer::engineOfCost(const CpuEngineCost &cost) {
  const CpuEngine *engines[] = {&fmaEngine(), &bf16DotVectors(), &int8DotVectors(), &amxTiles(), &amxInt8Tiles()};
  for (const CpuEngine *engine : engines)
    if (&engine->cost == &cost)
      return *engine;
  llvm_unreachable("an engine without code");
}

const VectorEngine &skewer::widestEngineFor(ElementType element, const Target &target) {
  return static_cast<const VectorEngine &>(engineOfCost(widestVectorsFor(element, target)));
}

void CpuEngine::multiplyColumns(VectorBuilder &b, const TileProduct &product, Value vectors,
                                const ProductOperand &target) const {
  b.loop(b.index(0), vectors, product.tile.vectors, [&](Value vector) {
    TileProduct tile = product;
    tile.panels.base = b.add(product.panels.base, b.mul(vector, product.panels.stride));
    multiplyInto(b, tile, {target.memory, b.add(target.base, b.mul(vector, b.lanes)), target.stride});
  });
}

void CpuEngine::multiplyInto(VectorBuilder &b, const TileProduct &product, const ProductOperand &target) const {
  SmallVector<Value> places;
  for (int64_t r = 0; r < product.tile.rows; ++r)
    for (int64_t v = 0; v < product.tile.vectors; ++v)
      places.push_back(b.add(target.base, r * target.stride + v * b.lanes));
  for (auto [sum, place] : llvm::zip(multiply(b, product, {target.memory, places, target.stride}), places))
    b.store(sum, target.memory, place);
}
