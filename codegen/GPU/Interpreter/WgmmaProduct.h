// Computes one wgmma in one warp: loads its operands, from shared memory or registers, and adds the products.
// WgmmaRegisters calls it at the wait. Fragments: PTX ISA, "Register Fragments for wgmma.mma_async".
#pragma once
#include "codegen/GPU/Interpreter/Machine.h"
#include "codegen/GPU/Interpreter/MatrixDescriptor.h"
#include "codegen/GPU/Interpreter/TensorCore.h"
#include "codegen/GPU/Interpreter/WgmmaForm.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer::gpu {

/// Rows (m or n) `first` … `first + count - 1` of an operand in shared memory, with all their elements along k.
struct WgmmaTile {
  MatrixDescriptor descriptor;
  unsigned first = 0, count = 0; // multiples of 8
  bool transposed = false;
  /// Calls f(address, row, k) for each 16 neighbouring bytes, with the place of their first element. They are along k,
  /// or along the rows if the operand is transposed.
  void forEachChunk(unsigned depth, llvm::function_ref<void(uint64_t, unsigned, unsigned)> f) const;
  /// Returns the elements, row by row.
  std::vector<Term> load(const uint8_t *shared, const WgmmaForm &) const;
};

/// Returns the 16 rows of A that a warp has in four registers.
std::vector<Term> loadA(const Warp &, const WgmmaForm &, llvm::ArrayRef<unsigned> registers);

/// Adds the products to `sums`, which has a register for each result.
void multiplyWarp(const WgmmaForm &, llvm::ArrayRef<Term> a, llvm::ArrayRef<Term> b, std::vector<Lanes> &sums);

} // namespace skewer::gpu
