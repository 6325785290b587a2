// Converts bf16, f16, i8 and f8E4M3FN to f32, and floats back, with instructions that every processor has.
#include "passes/Emit/NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace skewer;

static Type likewise(Type shape, Type element) {
  auto vector = dyn_cast<VectorType>(shape);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// Returns a constant of an integer type; for a vector type, in every lane.
static Value words(ImplicitLocOpBuilder &b, Type type, int64_t number) {
  Value scalar = arith::ConstantIntOp::create(b, number, getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  return isa<VectorType>(type) ? vector::BroadcastOp::create(b, type, scalar).getResult() : scalar;
}

/// Returns numbers of f8E4M3FN as f32. The four bits of the exponent and the three of the fraction, moved to their
/// places in f16, are the number times 2^-8, subnormal numbers too: f16 has the same form with a bias of 15 instead of
/// 7. A conversion of f16 is exact in every mode of the processor, while one that begins with a subnormal f32 is not.
/// The highest bit of the exponent in f16 is set for a NaN alone: its seven bits are all set, so 1 carries into it.
static Value widenedF8(ImplicitLocOpBuilder &b, Value value) {
  Type byte = likewise(value.getType(), b.getI8Type()), word = likewise(value.getType(), b.getI16Type());
  auto constant = [&](int64_t number) { return words(b, word, number); };
  constexpr int64_t kHighest = 0x4000, kSize = 0x3f80, kOne = 0x80;
  // The sign in the two highest bits, then the seven others.
  Value moved = arith::ShLIOp::create(b, arith::ExtSIOp::create(b, word, arith::BitcastOp::create(b, byte, value)),
                                      constant(7));
  Value carried = arith::AddIOp::create(b, arith::AndIOp::create(b, moved, constant(kSize)), constant(kOne));
  Value bits = arith::OrIOp::create(b, arith::AndIOp::create(b, carried, constant(kHighest)),
                                    arith::AndIOp::create(b, moved, constant(~kHighest)));
  Value half = arith::BitcastOp::create(b, likewise(value.getType(), b.getF16Type()), bits);
  Type wide = likewise(value.getType(), b.getF32Type());
  Value scale = arith::ConstantOp::create(b, b.getF32FloatAttr(256));
  if (isa<VectorType>(wide))
    scale = vector::BroadcastOp::create(b, wide, scale);
  return arith::MulFOp::create(b, arith::ExtFOp::create(b, wide, half), scale);
}

Value skewer::widened(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType(), wide = likewise(type, b.getF32Type());
  if (wide == type)
    return value;
  if (getElementTypeOrSelf(type).isInteger(8)) // f32 represents every integer of 8 bits
    return arith::SIToFPOp::create(b, wide, arith::ExtSIOp::create(b, likewise(type, b.getI32Type()), value));
  if (isa<Float8E4M3FNType>(getElementTypeOrSelf(type)))
    return widenedF8(b, value);
  if (!getElementTypeOrSelf(type).isBF16())
    return arith::ExtFOp::create(b, wide, value);
  // Widen with integer operations too. Otherwise LLVM keeps vectors of bf16 across loop iterations, and, on processors
  // without such registers, rounds them again with a call of a library that the kernel does not link.
  Type word = likewise(type, b.getI32Type()), half = likewise(type, b.getI16Type());
  Value bits = arith::ExtUIOp::create(b, word, arith::BitcastOp::create(b, half, value));
  bits = arith::ShLIOp::create(b, bits, words(b, word, 16));
  return arith::BitcastOp::create(b, wide, bits);
}

Value skewer::narrowed(ImplicitLocOpBuilder &b, Value value, Type element, bool hasBf16) {
  Type type = likewise(value.getType(), element);
  if (type == value.getType())
    return value;
  if (!element.isBF16() || (hasBf16 && isa<VectorType>(type)))
    return arith::TruncFOp::create(b, type, value);
  // Round to nearest even with integer operations, since LLVM would call a library that the kernel does not link if the
  // processor lacks the conversion to bf16.
  Type word = likewise(type, b.getI32Type()), half = likewise(type, b.getI16Type());
  auto constant = [&](int64_t number) { return words(b, word, number); };
  Value bits = arith::BitcastOp::create(b, word, value);
  Value upper = arith::ShRUIOp::create(b, bits, constant(16));
  Value odd = arith::AndIOp::create(b, upper, constant(1));
  Value rounded = arith::AddIOp::create(b, bits, arith::AddIOp::create(b, odd, constant(0x7fff)));
  Value shifted = arith::ShRUIOp::create(b, rounded, constant(16));
  Value quiet = arith::OrIOp::create(b, upper, constant(0x40)); // a NaN stays a NaN
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, value, value);
  Value chosen = arith::SelectOp::create(b, isNumber, shifted, quiet);
  return arith::BitcastOp::create(b, type, arith::TruncIOp::create(b, half, chosen));
}
