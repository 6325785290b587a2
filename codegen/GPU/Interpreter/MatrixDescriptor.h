// Matrix descriptors: they say where the operands of wgmma are in shared memory. WgmmaProduct and WgmmaRegisters read
// operands through them. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: Shared Memory Matrix Layout,
// Matrix Descriptor Format"; canonical layouts: CUTLASS, include/cute/atom/mma_traits_sm90_gmma.hpp.
#pragma once
#include <cstdint>
#include <string>

namespace skewer::gpu {

struct MatrixDescriptor {
  explicit MatrixDescriptor(uint64_t bits);

  uint64_t start = 0, leading = 0, stride = 0; // bytes
  unsigned swizzle = 0;                        // bytes of a row: 128, 64, 32; 0: none
  unsigned baseOffset = 0;
  bool reserved = false; // a bit without a meaning is set

  /// Returns why the interpreter refuses the descriptor; "" if it accepts it. A swizzled operand must begin in the
  /// first of eight rows.
  std::string problem(bool transposed) const;
  /// Returns the address of 16 neighbouring bytes. Not transposed: the bytes from 16 × chunk on, of the 32 bytes along
  /// k of row `row` (m or n). Transposed: elements 8 × chunk … 8 × chunk + 7 along m or n, of 2 bytes each, in row
  /// `row` along k.
  uint64_t chunk(unsigned row, unsigned chunk, bool transposed) const;
};

} // namespace skewer::gpu
