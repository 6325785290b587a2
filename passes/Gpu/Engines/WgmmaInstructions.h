// The instructions of wgmma (sm_90a): the product of a warpgroup, its operands in shared memory, and the order of
// products and accesses. PTX ISA, "Asynchronous warpgroup level matrix instructions". The interpreter of GPU kernels
// reads exactly the texts that are made here.
#pragma once
#include "passes/Gpu/Engine.h"
#include "passes/Gpu/Memory.h"

namespace skewer::gpu {

/// An operand in shared memory: the descriptor of its first step of the depth, i64, and how further steps follow.
struct MatrixPlace {
  Value descriptor;
  const SharedTile *tile = nullptr;
  bool alongRows = false; // the depth goes along the tile's rows: keys of values
  /// Returns the descriptor of a step of 16 elements of the depth.
  Value ofStep(GpuBuilder &, int64_t step) const;
};
/// Returns the rows of a tile from `first` on (i32, a multiple of 8; null: 0) as an operand. The number of the copy and
/// `first` are the same in all threads of a warpgroup.
MatrixPlace matrixAt(GpuBuilder &, const BlockMemory &, const SharedTile &, Value copy, Value first, bool alongRows);

/// Issue sums + 64 rows × 8 columns for each tile of the sums, for a step of 16 elements of f16 or bf16. If `begins`,
/// the sums begin at 0, whatever `sums` holds. The first function has its rows in shared memory, the second in registers,
/// 16 of each warp.
Tiles multiplyTogether(GpuBuilder &, const Tiles &sums, Value rows, Value columns, bool begins, Type element);
Tiles multiplyTogether(GpuBuilder &, const Tiles &sums, const RowFragment &rows, Value columns, bool begins,
                       Type element);

/// Orders the accesses to registers before it and the products behind it.
void fenceProducts(GpuBuilder &);
/// Makes a group of the products that have been issued since the last group.
void commitProducts(GpuBuilder &);
/// Waits for all groups but the last `pending` ones, and returns these sums of theirs.
Tiles waitForProducts(GpuBuilder &, const Tiles &issued, int64_t pending);

} // namespace skewer::gpu
