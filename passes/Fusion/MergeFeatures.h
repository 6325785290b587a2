// Merges the feature dimensions of queries, keys and values into one axis.
#pragma once
#include "mlir/Pass/Pass.h"

namespace skewer {

/// Creates attn-merge-features. It merges the contracted axes of a term, and the values' own axes, into one axis each,
/// if they are adjacent and in one order in every tensor that has them. Examples: features of heads in groups with a
/// scale each, complex numbers, capsules. The pass runs on functions, after attn-form-attention.
std::unique_ptr<mlir::Pass> createMergeFeatures();

} // namespace skewer
