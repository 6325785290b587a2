// Finds the operands of wgmma in shared memory. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: Shared
// Memory Matrix Layout, Matrix Descriptor Format"; canonical layouts: CUTLASS,
// include/cute/atom/mma_traits_sm90_gmma.hpp.
#pragma once
#include <cstdint>
#include <string>

namespace skewer::gpu {

struct MatrixDescriptor {
  explicit MatrixDescriptor(uint64_t bits);

  uint64_t start = 0, leading = 0, stride = 0; // bytes
  unsigned swizzle = 0;                        // bytes of a row: 128, 64, 32; 0: none
  unsigned baseOffset = 0;
  bool reserved = false; // a bit is set that has no meaning

  /// Returns why the interpreter refuses the descriptor; "" if it accepts it. A swizzled operand must begin in row 0 of
  /// eight.
  std::string problem(bool transposed) const;
  /// The address of 16 bytes that lie together. Not transposed: bytes 16 × chunk of the 32 bytes that row (m or n)
  /// `row` has of k. Transposed: elements 8 × chunk … 8 × chunk + 7 of m or n in row `row` of k, of 2 bytes each.
  uint64_t chunk(unsigned row, unsigned chunk, bool transposed) const;
};

} // namespace skewer::gpu
