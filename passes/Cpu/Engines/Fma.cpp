// The engine for all types: it widens elements to f32 when it packs them, and multiplies them with FMAs.
#include "passes/Cpu/Engines/VectorEngine.h"

using namespace mlir;
using namespace skewer;

namespace {
class Fma : public VectorEngine {
public:
  Fma() : VectorEngine("fma") {}
  bool packsFloats() const override { return true; }
  Value loadSteps(VectorBuilder &b, Value memory, Value at, int64_t count, double factor) const override {
    return b.mulf(b.loadFirst(memory, at, count), b.constant(factor));
  }
  Value addProducts(VectorBuilder &b, Value x, Value y, Value sum) const override { return b.fma(x, y, sum); }

protected:
  Value loadStep(VectorBuilder &b, const RowSource &source, Value step) const override {
    Value x = b.scalar(source.memory, b.add(source.base, b.mul(step, source.depthStride)));
    return b.mulf(x, b.constantScalar(source.factor));
  }
};
} // namespace

const VectorEngine &fmaVectors() {
  static const Fma engine;
  return engine;
}
