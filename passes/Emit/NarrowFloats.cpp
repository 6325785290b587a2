// bf16, f16 and i8 to f32, and back, with what every processor has.
#include "passes/Emit/NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace skewer;

static Type likewise(Type shape, Type element) {
  auto vector = dyn_cast<VectorType>(shape);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// A number of 32 bits, or as many of them as the type has elements.
static Value words(ImplicitLocOpBuilder &b, Type type, int64_t number) {
  Value scalar = arith::ConstantIntOp::create(b, number, 32);
  return isa<VectorType>(type) ? vector::BroadcastOp::create(b, type, scalar).getResult() : scalar;
}

Value skewer::widened(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType(), wide = likewise(type, b.getF32Type());
  if (wide == type)
    return value;
  if (getElementTypeOrSelf(type).isInteger(8)) // every whole number of 8 bits is one of f32's
    return arith::SIToFPOp::create(b, wide, arith::ExtSIOp::create(b, likewise(type, b.getI32Type()), value));
  if (!getElementTypeOrSelf(type).isBF16())
    return arith::ExtFOp::create(b, wide, value);
  // By hand as well: LLVM keeps vectors of bf16 from one iteration of a loop to the next, and where the processor has
  // no such registers it rounds them again, by a call of the same library.
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
  // To bf16 by hand, rounding to nearest even: where the processor lacks the conversion, LLVM would call a library that
  // the kernel does not link.
  Type word = likewise(type, b.getI32Type()), half = likewise(type, b.getI16Type());
  auto constant = [&](int64_t number) { return words(b, word, number); };
  Value bits = arith::BitcastOp::create(b, word, value);
  Value upper = arith::ShRUIOp::create(b, bits, constant(16));
  Value odd = arith::AndIOp::create(b, upper, constant(1));
  Value rounded = arith::AddIOp::create(b, bits, arith::AddIOp::create(b, odd, constant(0x7fff)));
  Value shifted = arith::ShRUIOp::create(b, rounded, constant(16));
  Value quiet = arith::OrIOp::create(b, upper, constant(0x40)); // a NaN stays one
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, value, value);
  Value chosen = arith::SelectOp::create(b, isNumber, shifted, quiet);
  return arith::BitcastOp::create(b, type, arith::TruncIOp::create(b, half, chosen));
}
