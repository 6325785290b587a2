// Emits the packing of weights and values as pairs of bf16 (Bf16Weights.h).
#include "passes/Cpu/Engines/Bf16Weights.h"
#include "passes/Cpu/Engines/Bf16Pairs.h"
#include "passes/Emit/Bf16Powers.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"

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

bool Bf16Weights::makesPowers(const VectorBuilder &b, const Target &target) const { return hasBf16Powers(b, target); }

PowerScale Bf16Weights::powerScale() const { return {kPowerOctave, kPowerOne}; }

Value Bf16Weights::maskOfPowers(VectorBuilder &b) const { return maskOfLowBytes(b); }

PackedPowers Bf16Weights::packPowers(VectorBuilder &b, Value mask, ArrayRef<Value> numbers, Value total) const {
  Value steps = bf16Powers(b, mask, numbers[0], numbers[1]);
  return {steps, addWeights(b, total, steps)};
}

Value Bf16Weights::addWeights(VectorBuilder &b, Value total, Value steps) const {
  Value both = arith::BitcastOp::create(b.builder, b.integers, steps);
  Value second = arith::AndIOp::create(b.builder, both, integer(b, int32_t(0xffff0000)));
  Value first = arith::ShLIOp::create(b.builder, both, integer(b, 16));
  auto asFloats = [&](Value x) -> Value { return arith::BitcastOp::create(b.builder, b.vector, x); };
  return b.addf(total, b.addf(asFloats(first), asFloats(second)));
}

/// A vector of powers has four elements of its first vector of numbers, then four of the second one, and so on.
Value Bf16Weights::elementOfStep(VectorBuilder &b, Value step, bool ofPowers) const {
  constexpr int64_t kQuarter = 4; // elements of a vector of f32 in 128 bits
  if (!ofPowers)
    return b.mul(step, 2);
  Value inVector = b.remainder(step, b.lanes), inQuarter = b.remainder(inVector, kQuarter);
  Value first = b.mul(b.sub(step, inVector), 2), quarter = b.mul(b.divide(inVector, kQuarter), kQuarter);
  Value ofSecond = b.mul(b.divide(inQuarter, kQuarter / 2), b.lanes);
  return b.add(b.add(first, quarter), b.add(ofSecond, b.mul(b.remainder(inQuarter, kQuarter / 2), 2)));
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
