// Finds running sums: sums over one axis up to a position along another, which one pass along the axis computes.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace skewer {

/// Creates attn-raise-running-sums: a product with a constant triangle of ones, `Σ over k of x[…, k] · (j <= k)`,
/// becomes the sum of x under that condition, which one pass computes (Stages/PrefixSum.h). The pass runs on functions,
/// before scores are composed.
std::unique_ptr<mlir::Pass> createRaiseRunningSums();

} // namespace skewer
