// Features of queries, keys and values that are several dimensions.
#pragma once
#include "mlir/Pass/Pass.h"

namespace skewer {

/// attn-merge-features: what a term contracts, and the values' own axes, become one axis each where they stand side by
/// side, in one order, in all that has them: heads' features in groups with a scale each, complex numbers, capsules. Of
/// functions, behind attn-form-attention.
std::unique_ptr<mlir::Pass> createMergeFeatures();

} // namespace skewer
