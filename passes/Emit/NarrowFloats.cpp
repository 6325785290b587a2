// Converts bf16, f16 and i8 to f32, and floats back, with instructions that every processor has.
#include "passes/Emit/NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace skewer;

static Type likewise(Type shape, Type element) {
  auto vector = dyn_cast<VectorType>(shape);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// Returns a constant of 32 bits; for a vector type, in every lane.
static Value words(ImplicitLocOpBuilder &b, Type type, int64_t number) {
  Value scalar = arith::ConstantIntOp::create(b, number, 32);
  return isa<VectorType>(type) ? vector::BroadcastOp::create(b, type, scalar).getResult() : scalar;
}

Value skewer::widened(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType(), wide = likewise(type, b.getF32Type());
  if (wide == type)
    return value;
  if (getElementTypeOrSelf(type).isInteger(8)) // f32 represents every integer of 8 bits
    return arith::SIToFPOp::create(b, wide, arith::ExtSIOp::create(b, likewise(type, b.getI32Type()), value));
  if (!getElementTypeOrSelf(type).isBF16())
    return arith::ExtFOp::create(b, wide, value);
  // Widen with integer operations too. Otherwise LLVM keeps vectors of bf16 across loop iterations, and, on processors
  // without such registers, rounds them again with a call of a library that the kernel does not link.
  Type word = likewise(type, b.getI32Type()), half = likewise(type, b.getI16Type());
  Value bits = arith::ExtUIOp::create(b, word, arith::BitcastOp::create(b, half, value));
  bits = arith::ShLIOp::create(b, bits, words(b, word, 16));
  return arith::BitcastOp::create(b, wide, bits);
}

Value skewer::narrowed(ImplicitLocOpBuilder &b, Value value, Type element) {
  Type type = likewise(value.getType(), element);
  if (type == value.getType())
    return value;
  if (!element.isBF16())
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
