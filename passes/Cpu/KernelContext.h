// The context that the parts of a kernel and its strategies share: the attention, the sizes of its blocks, its memory,
// and the head and the keys for which code is emitted.
#pragma once
#include "passes/Cpu/AttentionStage.h"
#include "passes/Cpu/Blocks.h"
#include "passes/Cpu/Geometry.h"
#include "passes/Cpu/KeyRuns.h"
#include "passes/Cpu/LiveKeys.h"
#include "passes/Cpu/Positions.h"
#include "passes/Emit/Buffer.h"

namespace skewer {

struct KernelContext {
  KernelContext(VectorBuilder &, const AttentionShape &, AttentionStage);
  KernelContext(const KernelContext &) = delete;

  VectorBuilder &b;
  const AttentionShape &shape;
  AttentionStage stage;
  Geometry geometry; // the kernel and its content complete it while they are planned
  KernelMemory memory;
  Positions positions;
  LiveKeys live;
  std::optional<KeyRuns> runs; // where the mask is known at compile time
  double scoreDeviation = 0;   // standard deviation of the scores of unit-normal operands

  /// Returns a buffer in the workspace of the worker.
  mlir::Value view(const Buffer &buffer) { return b.view(memory.local, b.index(buffer.offset), buffer.floats); }
  /// Returns the part of such a buffer that belongs to one of the heads that take turns at a phase.
  mlir::Value viewOfTurn(const Buffer &, mlir::Value turn);
  /// Returns the position of a row of a block.
  mlir::Value positionOf(mlir::Value firstRow, mlir::Value row) {
    return b.add(firstRow, b.mul(row, geometry.rowStep));
  }
  /// Returns the keys of a block that some row of a group sees, without those of the prefix.
  std::pair<mlir::Value, mlir::Value> liveOf(const KeyBlock &, mlir::Value group);
  /// The keys of a block that some row of several groups may see, and whether (i1) there are any.
  struct LiveTogether {
    KeyRange keys;
    mlir::Value some;
  };
  /// Returns those of the groups from `firstGroup` on that an engine multiplies at once.
  LiveTogether liveTogether(const KeyBlock &, mlir::Value firstGroup);
  /// Calls `body` for each group of rows of a block that may see some keys of the block; `high` is the end of those
  /// keys.
  void forLiveGroups(const KeyBlock &, const std::function<void(mlir::Value group, mlir::Value high)> &body);
  /// Returns whether sums of `depth` products of this scale belong to such large scores that their rounding errors are
  /// compensated.
  bool isHuge(double scale, int64_t depth) const;
};

/// A part of a kernel: short names for what the parts use of the context.
class KernelPart {
protected:
  explicit KernelPart(KernelContext &context)
      : context(context), b(context.b), shape(context.shape), g(context.geometry), memory(context.memory),
        positions(context.positions), live(context.live) {}

  KernelContext &context;
  VectorBuilder &b;
  const AttentionShape &shape;
  const Geometry &g;
  KernelMemory &memory;
  Positions &positions;
  LiveKeys &live;
};

} // namespace skewer
