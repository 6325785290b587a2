// Reads matrix descriptors of wgmma. The swizzle is computed from the bits of the address; bulk copies compute it from
// row and chunk, independently.
#include "codegen/GPU/Interpreter/MatrixDescriptor.h"
#include <fmt/format.h>

using namespace skewer::gpu;

MatrixDescriptor::MatrixDescriptor(uint64_t bits) {
  auto field = [&](unsigned first, unsigned count) { return bits >> first & ((uint64_t(1) << count) - 1); };
  start = field(0, 14) << 4;
  leading = field(16, 14) << 4;
  stride = field(32, 14) << 4;
  baseOffset = unsigned(field(49, 3));
  constexpr unsigned kSwizzles[] = {0, 128, 64, 32};
  swizzle = kSwizzles[field(62, 2)];
  reserved = field(14, 2) || field(30, 2) || field(46, 3) || field(52, 10);
}

std::string MatrixDescriptor::problem(bool transposed) const {
  if (reserved)
    return "the matrix descriptor has a bit set that has no meaning";
  if (baseOffset)
    return fmt::format("the matrix descriptor has the base offset {}; the interpreter knows 0 only", baseOffset);
  if (!swizzle)
    return "";
  uint64_t place = start % (8 * swizzle);
  if (place >= swizzle)
    return fmt::format("the operand begins at {}, in row {} of eight; a multiple of {} is needed", start,
                       place / swizzle, 8 * swizzle);
  if (!transposed && place + 32 > swizzle)
    return fmt::format("the operand begins at {}, {} bytes before the end of a row of {}", start, swizzle - place,
                       swizzle);
  return "";
}

uint64_t MatrixDescriptor::chunk(unsigned row, unsigned chunk, bool transposed) const {
  uint64_t group = row / 8, inGroup = row % 8;
  if (!swizzle) // eight rows of 16 bytes follow each other
    return transposed ? start + chunk * stride + group * leading + inGroup * 16
                      : start + group * stride + chunk * leading + inGroup * 16;
  uint64_t address = start + group * stride + inGroup * swizzle;
  if (transposed) {
    unsigned inPanel = swizzle / 16;
    address += chunk / inPanel * leading + chunk % inPanel * 16;
  } else {
    address += chunk * 16;
  }
  return address ^ (address % (8 * swizzle) >> 7) << 4;
}
