// Emits the conversions of e4m3 and i8, four or eight numbers at a time.
#include "passes/Gpu/Widening.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Gpu/Memory.h"

using namespace mlir;
using namespace skewer::gpu;

static Value constant(GpuBuilder &b, int64_t bits) { return b.i32(int32_t(uint32_t(bits))); }

/// Returns two numbers of f16 in one register.
static Value asHalves(GpuBuilder &b, Value word) {
  return LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()), word);
}

/// Returns four numbers of e4m3 in the bytes of an i32 as two pairs of f16, by the instruction.
static std::array<Value, 2> convertedPairs(GpuBuilder &b, Value bytes) {
  std::array<Value, 2> pairs;
  for (unsigned k : {0u, 1u}) {
    Value two = arith::TruncIOp::create(b, b.getI16Type(), b.shiftRight(bytes, 16 * k));
    Value vector = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getI8Type()), two);
    pairs[k] = NVVM::ConvertF8x2ToF16x2Op::create(b, VectorType::get({2}, b.getF16Type()), vector, /*relu=*/false,
                                                  Float8E4M3FNType::get(b.getContext()));
  }
  return pairs;
}

/// Returns numbers of e4m3, each in the upper byte of a half of an i32, as two numbers of f16 times 2^-8: e4m3 has the
/// form of f16 with three bits of fraction and a bias of 7 in place of 15, subnormal numbers too. The highest bit of
/// the exponent in f16 is set for a NaN alone: its seven bits are all set, so that a 1 carries into that bit.
static Value smallHalves(GpuBuilder &b, Value upperBytes) {
  Value size = b.bitAnd(b.shiftRight(upperBytes, 1), 0x3f803f80);
  Value nan = arith::AndIOp::create(b, b.add(size, 0x00800080), constant(b, 0x40004000));
  Value sign = arith::AndIOp::create(b, upperBytes, constant(b, 0x80008000));
  return asHalves(b, arith::OrIOp::create(b, arith::OrIOp::create(b, size, sign), nan));
}

static Value halfOf(GpuBuilder &b, Value halves, int64_t number) {
  return LLVM::FPExtOp::create(b, b.getF32Type(), LLVM::ExtractElementOp::create(b, halves, b.i32(number)));
}

/// Returns the numbers of e4m3 in the lower and the upper byte of each half of an i32, times 2^-8, as pairs of f16.
static std::array<Value, 2> smallEvenAndOdd(GpuBuilder &b, Value bytes) {
  return {smallHalves(b, b.shiftLeft(b.bitAnd(bytes, 0x00ff00ff), 8)),
          smallHalves(b, arith::AndIOp::create(b, bytes, constant(b, 0xff00ff00)))};
}

/// Returns four numbers of e4m3 in the bytes of an i32 as two pairs of f16, by integer operations and a product.
static std::array<Value, 2> exactPairs(GpuBuilder &b, Value bytes) {
  auto type = VectorType::get({2}, b.getF16Type());
  llvm::APFloat number = b.getFloatAttr(b.getF16Type(), 256).getValue();
  Value factor = LLVM::ConstantOp::create(b, type, DenseElementsAttr::get(type, number));
  std::array<Value, 2> halves = smallEvenAndOdd(b, bytes), pairs;
  for (Value &half : halves)
    half = LLVM::FMulOp::create(b, half, factor);
  for (int64_t k : {0, 1}) {
    Value pair = LLVM::PoisonOp::create(b, type);
    for (int64_t odd : {0, 1}) {
      Value one = LLVM::ExtractElementOp::create(b, halves[size_t(odd)], b.i32(k));
      pair = LLVM::InsertElementOp::create(b, pair, one, b.i32(odd));
    }
    pairs[size_t(k)] = pair;
  }
  return pairs;
}

/// Returns four numbers of i8 in the bytes of an i32 as f32. With its highest bit flipped, a byte is the number plus
/// 128, and the lowest byte of the f32 2^23 + 128 + number.
static std::array<Value, 4> numbersOfIntegers(GpuBuilder &b, Value bytes) {
  constexpr int64_t kBitsOf2To23 = 0x4b000000;
  Value flipped = arith::XOrIOp::create(b, bytes, constant(b, 0x80808080));
  std::array<Value, 4> numbers;
  for (int64_t k = 0; k < 4; ++k) {
    Value byte = b.bitAnd(k ? b.shiftRight(flipped, 8 * k) : flipped, 0xff);
    Value moved = arith::BitcastOp::create(b, b.getF32Type(), arith::OrIOp::create(b, byte, b.i32(kBitsOf2To23)));
    numbers[size_t(k)] = b.addf(moved, b.f32(-(0x1p23 + 128)));
  }
  return numbers;
}

/// Returns four numbers of e4m3 in the bytes of an i32 as f32, times 2^-8 if the conversion is not an instruction.
static std::array<Value, 4> numbersOfE4M3(GpuBuilder &b, Value bytes, bool byInstruction) {
  if (byInstruction) {
    std::array<Value, 2> pairs = convertedPairs(b, bytes);
    return {halfOf(b, pairs[0], 0), halfOf(b, pairs[0], 1), halfOf(b, pairs[1], 0), halfOf(b, pairs[1], 1)};
  }
  auto [even, odd] = smallEvenAndOdd(b, bytes);
  return {halfOf(b, even, 0), halfOf(b, odd, 0), halfOf(b, even, 1), halfOf(b, odd, 1)};
}

/// Appends the words of four numbers.
static void append(GpuBuilder &b, Value bytes, Type from, Type to, Value scale, bool byInstruction,
                   SmallVector<Value> &words) {
  bool isE4M3 = isa<Float8E4M3FNType>(from);
  if (isE4M3 && to.isF16() && !scale) {
    for (Value pair : byInstruction ? convertedPairs(b, bytes) : exactPairs(b, bytes))
      words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
    return;
  }
  std::array<Value, 4> numbers = isE4M3 ? numbersOfE4M3(b, bytes, byInstruction) : numbersOfIntegers(b, bytes);
  if (isE4M3 && !byInstruction)
    scale = scale ? b.mulf(scale, b.f32(256)) : b.f32(256);
  if (scale)
    for (Value &number : numbers)
      number = b.mulf(number, scale);
  if (to.isF32()) {
    for (Value number : numbers)
      words.push_back(arith::BitcastOp::create(b, b.getI32Type(), number));
    return;
  }
  words.push_back(pack(b, numbers[0], numbers[1], to));
  words.push_back(pack(b, numbers[2], numbers[3], to));
}

SmallVector<Value> skewer::gpu::widenedWords(GpuBuilder &b, Value bytes, Type from, Type to, Value scale,
                                             bool byInstruction) {
  SmallVector<Value> words;
  if (to.isF32()) {
    append(b, bytes, from, to, scale, byInstruction, words);
    return words;
  }
  Value low = arith::TruncIOp::create(b, b.getI32Type(), bytes);
  Value high = arith::TruncIOp::create(b, b.getI32Type(), arith::ShRUIOp::create(b, bytes, b.i64(32)));
  append(b, low, from, to, scale, byInstruction, words);
  append(b, high, from, to, scale, byInstruction, words);
  return words;
}
