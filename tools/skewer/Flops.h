// Useful FLOPs: what the layer's formula costs, whatever a kernel does to get there.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/TermClass.h"
#include <map>

namespace skewer::driver {

/// Pairs of query and key that the mask leaves, of one leading index. A causal square counts as half of it; of a mask
/// that depends on more than positions, what does hides nothing. `why`, if given, says so.
double visiblePairs(attn::AttentionOp, std::string *why = nullptr);

/// A term's FLOPs for one leading index: 2·D for each visible score of a content term and of an unclipped offset term
/// on whole positions, query side. Terms on one axis of a map, clipped, bucketed and scalar ones are not counted: their
/// cost is lower than what a reader of the formula would count, and models are compared without them.
double usefulFlops(const attn::Term &, double pairs);

/// 2·Dv for each visible score: the product with the values, of one leading index.
double valueFlops(attn::AttentionOp, double pairs);

/// Of a kernel at level 1, 2 or 3, with the run-time sizes given: its attentions, and the contractions beside them.
double usefulFlops(mlir::func::FuncOp, const std::map<std::string, int64_t> &sizes);

} // namespace skewer::driver
