// The engine for i8 whose sums stay in vector registers.
#include "passes/Cpu/Engines/ByteQuads.h"

using namespace mlir;
using namespace skewer;

namespace {
class Int8Dot : public ByteQuads {
public:
  Int8Dot() : ByteQuads("int8_dot") {}

protected:
  Value stepsOfRow(VectorBuilder &b, Value steps) const override { return raised(b, steps); }
};
} // namespace

const CpuEngine &int8DotVectors() {
  static const Int8Dot engine;
  return engine;
}
