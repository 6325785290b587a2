// Keys that several blocks divide. Each block leaves a record of its part of the keys for the rows, and a kernel of its
// own joins the records in the order of the parts, so that results depend on the schedule and the sizes alone. Dao et
// al. 2023, "Flash-Decoding for long-context inference".
#pragma once
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuLaunch.h"

namespace skewer::gpu {

/// Title of the kernel that joins the parts.
constexpr llvm::StringLiteral kJoin = "join";

/// The record of one part, in f32 numbers: rows of the sums of weights × values, not divided yet; then for each row the
/// maximum to which its weights refer, of scores as they stand in the kernel; then for each row the sum of its weights.
/// The records of a leading index follow each other in the order of the parts, and the leading indices follow each
/// other.
struct PartRecord {
  explicit PartRecord(const GpuShape &shape)
      : queries(shape.attention.queries), width(shape.attention.width), parts(shape.tile.keyParts) {}

  int64_t queries, width, parts;
  int64_t maxima() const { return queries * width; }
  int64_t sums() const { return maxima() + queries; }
  int64_t numbers() const { return sums() + queries; }
  /// Returns the bytes of the records of all parts of a leading index; 0 if there is only one part.
  int64_t bytes() const { return parts > 1 ? parts * numbers() * 4 : 0; }
};

/// Adds the kernel that joins the parts to the module, under `name`. Refuses if an index expression cannot be emitted.
std::optional<Refusal> emitJoinKernel(GpuBuilder &, const GpuAttention &, mlir::gpu::GPUModuleOp, llvm::StringRef name,
                                      GpuLaunch &);

} // namespace skewer::gpu
