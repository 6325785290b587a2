// The shapes of a program's attentions, each derived once.
#pragma once
#include "passes/Stages/Stages.h"

namespace skewer {

/// An analysis of a function or a module: `getAnalysis<AttentionShapes>()`. A shape is derived when it is first asked
/// for. A pass that changes attentions, or what computes their operands, invalidates all of them; a pass that only sets
/// schedules may preserve them.
class AttentionShapes {
public:
  explicit AttentionShapes(mlir::Operation *) {}

  /// Returns `walkedShape` of the attention.
  const OrRefusal<AttentionShape> &walked(attn::AttentionOp attention) {
    auto known = shapes.find(attention);
    return known != shapes.end() ? known->second : shapes.emplace(attention, walkedShape(attention)).first->second;
  }
  /// Returns `fusedShape` of the attention.
  const OrRefusal<AttentionShape> &fused(attn::AttentionOp attention) {
    const OrRefusal<AttentionShape> &shape = walked(attention);
    return shape && !isScheduledForCpu(attention) ? unscheduled : shape;
  }

private:
  std::map<mlir::Operation *, OrRefusal<AttentionShape>> shapes;
  const OrRefusal<AttentionShape> unscheduled = Refusal{kNotScheduled};
};

} // namespace skewer
