// Sums over one axis up to a position along another: one pass along the axis.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace skewer {

/// attn-raise-running-sums: a product with a constant triangle of ones, `Σ over k of x[…, k] · (j <= k)`, becomes the sum
/// of x under that condition, which is made in one pass (Stages/PrefixSum.h). Of functions, before scores are composed.
std::unique_ptr<mlir::Pass> createRaiseRunningSums();

} // namespace skewer
