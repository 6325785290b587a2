// What a block does in one step, counted: operations of each pipe of a multiprocessor, and bytes. The cost model
// divides these by a machine's rates.
#pragma once
#include "passes/Analysis/GpuShape.h"

namespace skewer::gpu {

/// Operations of threads. What is counted in a pipe is counted as an instruction too.
struct GpuPipes {
  double matrixFlops = 0;
  double specials = 0;                     // exponentials
  double floats = 0;                       // additions, multiplications, multiply-adds of f32
  double integers = 0;                     // integer and bit operations, maxima, comparisons, conversions
  double issued = 0;                       // instructions of any kind
  double sharedTraffic = 0, l2Traffic = 0; // bytes

  void addSpecials(double count) { specials += count, issued += count; }
  void addFloats(double count) { floats += count, issued += count; }
  void addIntegers(double count) { integers += count, issued += count; }
  /// `bytes` of shared memory, so many an instruction.
  void addShared(double bytes, double ofInstruction) { sharedTraffic += bytes, issued += bytes / ofInstruction; }
  GpuPipes &operator+=(const GpuPipes &);
};

/// One step: `rows` queries meet `keys` keys. A warp's products wait for each other's scores and weights, so that its
/// two kinds of work follow each other; several warps' overlap.
struct GpuStepWork {
  GpuPipes products;   // fragments and products
  GpuPipes scores;     // everything else: copies, terms of each score, the softmax
  double operands = 0; // that are brought into shared memory
  GpuPipes all() const;
};
GpuStepWork stepWorkOf(const GpuShape &, const GpuTile &);

} // namespace skewer::gpu
