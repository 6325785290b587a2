// Computes the sums of one wgmma in one warp, added as tensor cores add (TensorCore.h).
#include "codegen/GPU/Interpreter/WgmmaProduct.h"
#include "codegen/GPU/Interpreter/Numbers.h"

using namespace skewer::gpu;

namespace {

constexpr unsigned kChunk = 16; // bytes

float elementAt(const uint8_t *bytes, WgmmaType type) {
  uint32_t word = 0;
  switch (type) {
  case WgmmaType::E4M3:
    return fromE4M3(*bytes);
  case WgmmaType::TF32:
    std::memcpy(&word, bytes, 4);
    return fromTf32(word);
  case WgmmaType::F16:
  case WgmmaType::BF16:
    break;
  }
  std::memcpy(&word, bytes, 2);
  return type == WgmmaType::F16 ? fromHalf(uint16_t(word)) : fromBrain(uint16_t(word));
}

} // namespace

void WgmmaTile::forEachChunk(unsigned depth, llvm::function_ref<void(uint64_t, unsigned, unsigned)> f) const {
  if (transposed) {
    for (unsigned k = 0; k < depth; ++k)
      for (unsigned row = first; row < first + count; row += 8)
        f(descriptor.chunk(k, row / 8, true), row - first, k);
    return;
  }
  for (unsigned row = first; row < first + count; ++row)
    for (unsigned half = 0; half < 2; ++half)
      f(descriptor.chunk(row, half, false), row - first, half * depth / 2);
}

std::vector<Term> WgmmaTile::load(const uint8_t *shared, const WgmmaForm &form) const {
  unsigned depth = form.depth();
  std::vector<Term> elements(size_t(count) * depth);
  forEachChunk(depth, [&](uint64_t address, unsigned row, unsigned k) {
    for (unsigned n = 0; n < kChunk / form.bytes(); ++n) {
      size_t place = transposed ? size_t(row + n) * depth + k : size_t(row) * depth + k + n;
      elements[place] = Term::of(elementAt(shared + address + n * form.bytes(), form.type));
    }
  });
  return elements;
}

std::vector<Term> skewer::gpu::loadA(const Warp &warp, const WgmmaForm &form, llvm::ArrayRef<unsigned> registers) {
  std::vector<Term> elements(size_t(16) * form.depth());
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned part = 0; part < 4; ++part) { // four bytes of a row
      unsigned row = lane / 4 + part % 2 * 8, byte = lane % 4 * 4 + part / 2 * kChunk;
      auto word = uint32_t(warp.registers[registers[part]][lane]);
      uint8_t bytes[4];
      std::memcpy(bytes, &word, 4);
      for (unsigned n = 0; n < 4 / form.bytes(); ++n)
        elements[row * form.depth() + byte / form.bytes() + n] =
            Term::of(elementAt(bytes + n * form.bytes(), form.type));
    }
  return elements;
}

void skewer::gpu::multiplyWarp(const WgmmaForm &form, llvm::ArrayRef<Term> a, llvm::ArrayRef<Term> b,
                               std::vector<Lanes> &sums) {
  unsigned depth = form.depth();
  bool narrow = form.type == WgmmaType::E4M3;
  unsigned atOnce = narrow ? depth : form.type == WgmmaType::TF32 ? kProductsAtOnce / 2 : kProductsAtOnce;
  std::vector<Term> rows(a);
  if (form.negatedA != form.negatedB)
    for (Term &term : rows)
      term.number = -term.number;
  for (unsigned number = 0; number < form.results(); ++number)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned row = lane / 4 + number / 2 % 2 * 8, column = number / 4 * 8 + lane % 4 * 2 + number % 2;
      uint64_t &sum = sums[number][lane];
      sum = bitsOf(multiplyAdd(&rows[row * depth], &b[column * depth], 1, depth, atOnce, floatOf(uint32_t(sum)),
                               narrow ? kGuardBitsOfE4M3 : kGuardBits));
    }
}
