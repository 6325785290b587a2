// Counts the work of a block in one step: operations of each pipe of a multiprocessor, and bytes. The cost model
// divides these by the rates of a machine.
#pragma once
#include "passes/Gpu/Shape/GpuShape.h"

namespace skewer::gpu {

/// Operations of threads. An operation in a pipe is also counted as an instruction.
struct GpuPipes {
  double matrixFlops = 0;                  // of the tile's engine
  double warpFlops = 0;                    // of mma.sync, beside another engine
  double specials = 0;                     // exponentials
  double floats = 0;                       // additions, multiplications, multiply-adds of f32
  double integers = 0;                     // integer and bit operations, maxima, comparisons, conversions
  double issued = 0;                       // instructions of any kind
  double sharedTraffic = 0, l2Traffic = 0; // bytes

  void addSpecials(double count) { specials += count, issued += count; }
  void addFloats(double count) { floats += count, issued += count; }
  void addIntegers(double count) { integers += count, issued += count; }
  /// Adds `bytes` of shared memory traffic, `ofInstruction` bytes per instruction.
  void addShared(double bytes, double ofInstruction) { sharedTraffic += bytes, issued += bytes / ofInstruction; }
  GpuPipes &operator+=(const GpuPipes &);
};

/// The work of one step, `rows` queries by `keys` keys. In one warp, products and scores wait for each other, so its
/// two kinds of work run one after the other. The work of several warps overlaps.
struct GpuStepWork {
  GpuPipes products;   // fragments and products
  GpuPipes scores;     // everything else: copies, terms of each score, the softmax
  double operands = 0; // number of operands that are copied to shared memory
  GpuPipes all() const;
};
GpuStepWork stepWorkOf(const GpuShape &, const GpuTile &);

} // namespace skewer::gpu
