// The engine for i8 on AMX.
#include "passes/Cpu/Engines/AmxTiles.h"
#include "passes/Cpu/Engines/ByteQuads.h"

using namespace mlir;
using namespace skewer;

namespace {
/// TDPBSSD multiplies rows as they are in memory. Products that do not fill tiles are those of vectors.
class AmxInt8 : public ByteQuads {
public:
  AmxInt8() : ByteQuads("amx_int8") {}
  void begin(VectorBuilder &b) const override { AmxTiles::begin(b); }
  void end(VectorBuilder &b) const override { AmxTiles::end(b); }
  Value addProducts(VectorBuilder &b, Value x, Value y, Value sum) const override {
    return ByteQuads::addProducts(b, raised(b, x), y, sum);
  }
  SmallVector<Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const override;
  void multiplyInto(VectorBuilder &, const TileProduct &, const ProductOperand &target) const override;
  void multiplyColumns(VectorBuilder &, const TileProduct &, Value vectors,
                       const ProductOperand &target) const override;

private:
  AmxTiles tiles{"tdpbssd"};
};

SmallVector<Value> AmxInt8::multiply(VectorBuilder &b, const TileProduct &product, const HeldSums &held) const {
  if (!AmxTiles::fits(b, product) || !held.stride)
    return ByteQuads::multiply(b, product, held);
  tiles.multiply(b, product, {held.memory, held.places[0], held.stride});
  SmallVector<Value> numbers;
  for (Value place : held.places) {
    Value number = numbersOf(b, b.load(held.memory, place));
    numbers.push_back(product.scale == 1 ? number : b.mulf(number, b.constant(product.scale)));
  }
  return numbers;
}

void AmxInt8::multiplyInto(VectorBuilder &b, const TileProduct &product, const ProductOperand &target) const {
  if (!AmxTiles::fits(b, product))
    return ByteQuads::multiplyInto(b, product, target);
  tiles.multiply(b, product, target);
}

void AmxInt8::multiplyColumns(VectorBuilder &b, const TileProduct &product, Value vectors,
                              const ProductOperand &target) const {
  if (!AmxTiles::fits(b, product))
    return ByteQuads::multiplyColumns(b, product, vectors, target);
  tiles.multiplyColumns(b, product, vectors, target);
}
} // namespace

const CpuEngine &amxInt8Tiles() {
  static const AmxInt8 engine;
  return engine;
}
