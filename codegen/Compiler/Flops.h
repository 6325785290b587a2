// Counts useful FLOPs: the cost of the layer's formula, whatever a kernel computes for it. `explain`, `bench` and `run`
// use the numbers; they are the same for all schedules, so times can be compared.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/TermClass.h"
#include <map>

namespace skewer {

/// A number of pairs of query and key, and why it contains pairs that a mask may hide; empty if it does not.
struct VisiblePairs {
  double count = 0;
  std::string note;
};

/// Returns the pairs of query and key that the mask leaves visible, for one leading index. A causal square counts as
/// half of the pairs. The parts of a mask that depend on more than positions count as hiding nothing.
VisiblePairs visiblePairs(attn::AttentionOp);

/// Returns a term's FLOPs for one leading index: 2·D for each visible score of a content term, and of an unclipped
/// offset term on whole positions on the query side. Terms on one axis of a map and clipped, bucketed and scalar terms
/// are not counted: their cost is lower than a reader of the formula would count, and models are compared without them.
double usefulFlops(const attn::Term &, double pairs);

/// Returns the FLOPs of the product with the values, for one leading index: 2·Dv for each visible score.
double valueFlops(attn::AttentionOp, double pairs);

/// Returns the FLOPs of a kernel at level 1, 2 or 3 with the given run-time sizes: its attentions and its other
/// contractions.
double usefulFlops(mlir::func::FuncOp, const std::map<std::string, int64_t> &sizes);

} // namespace skewer
