// Keys that several blocks divide: each leaves what its keys say of the rows, and a kernel of its own joins that, in
// the order of the parts, so that results depend on the schedule and the sizes alone. Dao et al. 2023, "Flash-Decoding
// for long-context inference".
#pragma once
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuLaunch.h"

namespace skewer::gpu {

/// The title of the kernel that joins.
constexpr llvm::StringLiteral kJoin = "join";

/// What one part leaves, in f32 numbers: rows of the weights' sums with the values, not divided yet; then of each row
/// the maximum that they refer to, of scores as they stand in the kernel; then the sums of its weights. One part stands
/// behind the other, and those of a leading index behind those of the one before.
struct PartRecord {
  explicit PartRecord(const GpuShape &shape)
      : queries(shape.attention.queries), width(shape.attention.width), parts(shape.tile.keyParts) {}

  int64_t queries, width, parts;
  int64_t maxima() const { return queries * width; }
  int64_t sums() const { return maxima() + queries; }
  int64_t numbers() const { return sums() + queries; }
  /// Bytes that all parts of a leading index leave; 0 where there is but one.
  int64_t bytes() const { return parts > 1 ? parts * numbers() * 4 : 0; }
};

/// Adds the kernel that joins the parts to the module, under `name`. False with a `reason` where an index expression
/// could not be emitted.
bool emitJoinKernel(GpuBuilder &, const GpuAttention &, mlir::gpu::GPUModuleOp, llvm::StringRef name, GpuLaunch &,
                    std::string &reason);

} // namespace skewer::gpu
