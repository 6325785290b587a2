// Emits the packing of weights and values as pairs of bf16 (Bf16Weights.h).
#include "passes/Cpu/Engines/Bf16Weights.h"
#include "passes/Cpu/Engines/Bf16Pairs.h"
#include "passes/Emit/IntegerLanes.h"

using namespace mlir;
using namespace skewer;

Value Bf16Weights::packWeights(VectorBuilder &b, ArrayRef<Value> weights) const {
  return roundedPairs(b, weights[0], weights[1]);
}

Value Bf16Weights::packValues(VectorBuilder &b, Value memory, ArrayRef<Value> places, int64_t count) const {
  auto elements = VectorType::get({b.lanes}, b.builder.getBF16Type());
  auto halves = VectorType::get({b.lanes}, b.builder.getI16Type());
  auto wide = [&](Value at) -> Value {
    Value x;
    if (count == b.lanes) {
      x = vector::LoadOp::create(b.builder, elements, memory, at);
    } else {
      Value none = arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(elements)));
      x = vector::MaskedLoadOp::create(b.builder, elements, memory, at, b.firstLanes(count), none);
    }
    return arith::ExtUIOp::create(b.builder, b.integers, arith::BitcastOp::create(b.builder, halves, x));
  };
  Value second = arith::ShLIOp::create(b.builder, wide(places[1]), integer(b, 16));
  Value both = arith::OrIOp::create(b.builder, wide(places[0]), second);
  return arith::BitcastOp::create(b.builder, b.vector, both);
}

Value Bf16Weights::keepExisting(VectorBuilder &b, Value step, ArrayRef<Value> exists) const {
  Type word = b.builder.getI32Type();
  auto bits = [&](bool second) -> Value {
    Value all = arith::ConstantIntOp::create(b.builder, word, second ? 0xffff0000 : 0xffff);
    return b.select(exists[second], all, arith::ConstantIntOp::create(b.builder, word, 0));
  };
  Value kept = arith::OrIOp::create(b.builder, bits(false), bits(true));
  Value mask = vector::BroadcastOp::create(b.builder, b.integers, kept);
  Value both = arith::BitcastOp::create(b.builder, b.integers, step);
  return arith::BitcastOp::create(b.builder, b.vector, arith::AndIOp::create(b.builder, both, mask));
}
