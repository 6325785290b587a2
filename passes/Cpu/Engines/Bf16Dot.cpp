// The engine for bf16 whose sums stay in vector registers, and the pairs of all engines for bf16.
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "passes/Cpu/Engines/Bf16Pairs.h"

using namespace mlir;
using namespace skewer;

static VectorType pairsOf(const VectorBuilder &b) { return VectorType::get({2 * b.lanes}, b.builder.getBF16Type()); }

Value Bf16Pairs::loadSteps(VectorBuilder &b, Value memory, Value at, int64_t count, double) const {
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

Value Bf16Pairs::addProducts(VectorBuilder &b, Value x, Value y, Value sum) const {
  auto pairs = [&](Value steps) -> Value { return vector::BitCastOp::create(b.builder, pairsOf(b), steps); };
  return x86vector::DotBF16Op::create(b.builder, b.vector, sum, pairs(x), pairs(y));
}

Value Bf16Pairs::loadStep(VectorBuilder &b, const RowSource &source, Value step) const {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b.builder, b.builder.getI32Type(), value);
  };
  auto bitsAt = [&](Value d) -> Value {
    Value x = memref::LoadOp::create(b.builder, source.memory, b.add(source.base, b.mul(d, source.depthStride)));
    Value bits = arith::BitcastOp::create(b.builder, b.builder.getI16Type(), x);
    return arith::ExtUIOp::create(b.builder, b.builder.getI32Type(), bits);
  };
  // Nothing behind the row is read.
  auto bitsIfAny = [&](Value d, Value other) {
    Value exists = b.less(d, b.index(source.depth));
    return b.select(exists, bitsAt(b.select(exists, d, other)), number(0));
  };
  int64_t behind = 2 * stepsOf(source.depth) - source.depth; // elements of steps behind the row
  Value first = b.mul(step, 2), second = b.add(first, 1);
  Value low = behind < 2 ? bitsAt(first) : bitsIfAny(first, b.index(0));
  Value high = behind == 0 ? bitsAt(second) : bitsIfAny(second, behind < 2 ? first : b.index(0));
  Value bits = arith::OrIOp::create(b.builder, low, arith::ShLIOp::create(b.builder, high, number(16)));
  return arith::BitcastOp::create(b.builder, b.f32, bits);
}

const VectorEngine &bf16DotVectors() {
  static const Bf16Pairs engine("bf16_dot");
  return engine;
}
