// One wgmma in one warp: where its operands lie, and its sums. Fragments: PTX ISA, "Register Fragments for
// wgmma.mma_async".
#pragma once
#include "codegen/GPU/Interpreter/Machine.h"
#include "codegen/GPU/Interpreter/MatrixDescriptor.h"
#include "codegen/GPU/Interpreter/TensorCore.h"
#include "codegen/GPU/Interpreter/WgmmaForm.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer::gpu {

/// Rows (m or n) `first` … `first + count - 1` of an operand in shared memory, or all elements of k of them.
struct WgmmaTile {
  MatrixDescriptor descriptor;
  unsigned first = 0, count = 0; // multiples of 8
  bool transposed = false;
  /// Calls f(address, row, k) with the place of the first element, for each 16 bytes that lie together: along k, or
  /// along the rows where the operand is transposed.
  void forEachChunk(unsigned depth, llvm::function_ref<void(uint64_t, unsigned, unsigned)> f) const;
  /// Returns the elements, those of a row one after another.
  std::vector<Term> load(const uint8_t *shared, const WgmmaForm &) const;
};

/// The 16 rows of A that a warp has in four registers.
std::vector<Term> loadA(const Warp &, const WgmmaForm &, llvm::ArrayRef<unsigned> registers);

/// Adds the products to `sums`, a register for each result.
void multiplyWarp(const WgmmaForm &, llvm::ArrayRef<Term> a, llvm::ArrayRef<Term> b, std::vector<Lanes> &sums);

} // namespace skewer::gpu
