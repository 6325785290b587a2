// The engine for bf16 on AMX.
#include "passes/Cpu/Engines/AmxTiles.h"
#include "passes/Cpu/Engines/Bf16Pairs.h"
#include "passes/Cpu/Engines/Bf16Weights.h"

using namespace mlir;
using namespace skewer;

namespace {
class Amx : public Bf16Pairs, public Bf16Weights {
public:
  Amx() : Bf16Pairs("amx") {}
  void begin(VectorBuilder &b) const override { AmxTiles::begin(b); }
  void end(VectorBuilder &b) const override { AmxTiles::end(b); }
  SmallVector<Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const override;
  void multiplyInto(VectorBuilder &, const TileProduct &, const ProductOperand &target) const override;
  void multiplyColumns(VectorBuilder &, const TileProduct &, Value vectors,
                       const ProductOperand &target) const override;
  const WeightEngine *forWeights() const override { return this; }
  void addProduct(VectorBuilder &b, const AddedProduct &product) const override { tiles.add(b, product); }

private:
  static bool fits(const VectorBuilder &b, const TileProduct &product) { return AmxTiles::fits(b, product); }
  AmxTiles tiles{"tdpbf16ps"};
};

SmallVector<Value> Amx::multiply(VectorBuilder &b, const TileProduct &product, const HeldSums &held) const {
  if (!fits(b, product) || !held.stride)
    return VectorEngine::multiply(b, product, held);
  tiles.multiply(b, product, {held.memory, held.places[0], held.stride});
  SmallVector<Value> sums;
  for (Value place : held.places)
    sums.push_back(b.load(held.memory, place));
  for (Value &sum : sums)
    if (product.scale != 1)
      sum = b.mulf(sum, b.constant(product.scale));
  return sums;
}

void Amx::multiplyInto(VectorBuilder &b, const TileProduct &product, const ProductOperand &target) const {
  if (!fits(b, product) || product.scale != 1)
    return CpuEngine::multiplyInto(b, product, target);
  tiles.multiply(b, product, target);
}

void Amx::multiplyColumns(VectorBuilder &b, const TileProduct &product, Value vectors,
                          const ProductOperand &target) const {
  if (!fits(b, product) || product.scale != 1)
    return CpuEngine::multiplyColumns(b, product, vectors, target);
  tiles.multiplyColumns(b, product, vectors, target);
}
} // namespace

const CpuEngine &amxTiles() {
  static const Amx engine;
  return engine;
}
