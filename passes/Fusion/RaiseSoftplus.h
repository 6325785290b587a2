// Logarithms of gates, without the numbers between that f32 does not hold.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace skewer {

/// log(1 + exp(x)) becomes softplus(x), log(1 / (1 + exp(x))), the logarithm of sigmoid(-x), -softplus(x).
std::unique_ptr<mlir::Pass> createRaiseSoftplus();

} // namespace skewer
