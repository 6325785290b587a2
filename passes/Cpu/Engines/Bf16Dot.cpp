// The engine for bf16: a step is a pair of elements as they are in memory, and vdpbf16ps adds the products of the pairs
// of each lane. The products are exact in f32; each addition rounds to nearest, and denormal numbers count as 0.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Cpu/Engines/VectorEngine.h"

using namespace mlir;
using namespace skewer;

namespace {
class Bf16Dot : public VectorEngine {
public:
  Bf16Dot() : VectorEngine("bf16_dot") {}
  bool packsFloats() const override { return false; }
  Value loadSteps(VectorBuilder &b, Value memory, Value at, int64_t count, double) const override {
    VectorType type = pairsOf(b);
    if (count == type.getNumElements())
      return vector::BitCastOp::create(b.builder, b.vector, vector::LoadOp::create(b.builder, type, memory, at));
    SmallVector<bool> exists(type.getNumElements(), false);
    std::fill_n(exists.begin(), count, true);
    auto bits = VectorType::get(type.getShape(), b.builder.getI1Type());
    Value mask = arith::ConstantOp::create(b.builder, DenseElementsAttr::get(bits, exists));
    Value none = arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(type)));
    Value pairs = vector::MaskedLoadOp::create(b.builder, type, memory, at, mask, none);
    return vector::BitCastOp::create(b.builder, b.vector, pairs);
  }
  Value addProducts(VectorBuilder &b, Value x, Value y, Value sum) const override {
    auto pairs = [&](Value steps) -> Value { return vector::BitCastOp::create(b.builder, pairsOf(b), steps); };
    return LLVM::CallIntrinsicOp::create(b.builder, b.vector,
                                         b.builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                         ValueRange{sum, pairs(x), pairs(y)})
        .getResult(0);
  }

protected:
  /// Returns the elements 2·step and 2·step + 1; behind the last element of a row is 0.
  Value loadStep(VectorBuilder &b, const RowSource &source, Value step) const override {
    auto bitsAt = [&](Value d) -> Value {
      Value x = memref::LoadOp::create(b.builder, source.memory, b.add(source.base, b.mul(d, source.depthStride)));
      Value bits = arith::BitcastOp::create(b.builder, b.builder.getI16Type(), x);
      return arith::ExtUIOp::create(b.builder, b.builder.getI32Type(), bits);
    };
    Value first = b.mul(step, 2), second = b.add(first, 1), low = bitsAt(first), high;
    if (source.depth % 2 == 0) {
      high = bitsAt(second);
    } else {
      Value exists = b.less(second, b.index(source.depth)), none = number(b, 0);
      high = b.select(exists, bitsAt(b.select(exists, second, first)), none);
    }
    Value bits = arith::OrIOp::create(b.builder, low, arith::ShLIOp::create(b.builder, high, number(b, 16)));
    return arith::BitcastOp::create(b.builder, b.f32, bits);
  }

private:
  static VectorType pairsOf(const VectorBuilder &b) { return VectorType::get({2 * b.lanes}, b.builder.getBF16Type()); }
  static Value number(VectorBuilder &b, int64_t value) {
    return arith::ConstantIntOp::create(b.builder, b.builder.getI32Type(), value);
  }
};
} // namespace

const VectorEngine &bf16DotVectors() {
  static const Bf16Dot engine;
  return engine;
}
