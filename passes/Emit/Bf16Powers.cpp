// Emits powers as integers of 16 bits (Bf16Powers.h).
//
// The bits of a bf16 number are, as an integer, close to 128 times its logarithm of base 2, plus 128 × 127: the
// exponent stands above the seven bits of the fraction. What the integer has too much depends on the fraction alone,
// and is at most 11. So a power is the rounded integer minus an entry of a table. Source of the approximation:
// Schraudolph 1999, "A fast, compact approximation of the exponential function".
#include "passes/Emit/Bf16Powers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

bool skewer::hasBf16Powers(const VectorBuilder &b, const Target &target) {
  return b.lanes == 16 && hasFeature(target, "avx512vbmi");
}

/// Returns a call of an intrinsic of LLVM for x86.
static Value intrinsic(VectorBuilder &b, StringRef name, VectorType type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b.builder, type, b.builder.getStringAttr("llvm.x86." + name.str()), operands)
      .getResult(0);
}

/// Returns what is subtracted from an integer with the fraction 2·entry or 2·entry + 1, as bytes: the excess of the
/// fraction over that of the power in the middle between both. One entry serves two fractions, because a permutation
/// looks up 64 bytes.
static Value excessOfFractions(VectorBuilder &b) {
  constexpr int kEntries = 64, kFractions = 128;
  SmallVector<int8_t> excess;
  for (int entry = 0; entry < kEntries; ++entry) {
    double fraction = 2 * entry + 0.5;
    excess.push_back(int8_t(std::lrint(fraction - kFractions * (std::exp2(fraction / kFractions) - 1))));
  }
  auto type = VectorType::get({kEntries}, b.builder.getI8Type());
  return arith::ConstantOp::create(b.builder, DenseElementsAttr::get(type, llvm::ArrayRef<int8_t>(excess)));
}

Value skewer::maskOfLowBytes(VectorBuilder &b) {
  auto type = VectorType::get({4 * b.lanes}, b.builder.getI1Type());
  Value bits = arith::ConstantIntOp::create(b.builder, b.builder.getI64Type(), 0x5555555555555555);
  auto dialect = LLVM::AsmDialectAttr::get(b.builder.getContext(), LLVM::AsmDialect::AD_ATT);
  return LLVM::InlineAsmOp::create(b.builder, type, ValueRange{bits}, "kmovq $1, $0", "=k,r",
                                   /*has_side_effects=*/false, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, dialect, ArrayAttr())
      .getResult(0);
}

/// Returns x rounded to the nearest integers; the lowest integer for NaN, -inf and other numbers that have none.
static Value roundedTo32(VectorBuilder &b, Value x) {
  auto all = arith::ConstantIntOp::create(b.builder, b.builder.getI16Type(), -1);
  auto rounding = arith::ConstantIntOp::create(b.builder, b.builder.getI32Type(), 4); // as the thread rounds
  Value none = arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(b.integers)));
  return intrinsic(b, "avx512.mask.cvtps2dq.512", cast<VectorType>(b.integers), {x, none, all, rounding});
}

Value skewer::bf16Powers(VectorBuilder &b, Value lowBytes, Value first, Value second) {
  auto words = VectorType::get({2 * b.lanes}, b.builder.getI16Type());
  auto bytes = VectorType::get({4 * b.lanes}, b.builder.getI8Type());
  // Packing saturates: negative integers, of powers below the smallest number, become 0. It takes each quarter of both
  // vectors in turn.
  Value packed = intrinsic(b, "avx512.packusdw.512", words, {roundedTo32(b, first), roundedTo32(b, second)});
  Value one = arith::ConstantOp::create(b.builder, DenseElementsAttr::get(words, llvm::APInt(16, 1)));
  Value places = vector::BitCastOp::create(b.builder, bytes, arith::ShRUIOp::create(b.builder, packed, one));
  Value found = intrinsic(b, "avx512.permvar.qi.512", bytes, {excessOfFractions(b), places});
  Value none = arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(bytes)));
  Value excess = vector::BitCastOp::create(b.builder, words, b.select(lowBytes, found, none));
  return vector::BitCastOp::create(b.builder, b.vector, arith::SubIOp::create(b.builder, packed, excess));
}
