// Computes logarithms of gates without intermediate numbers outside the range of f32.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace skewer {

/// Creates attn-raise-softplus: log(1 + exp(x)) becomes softplus(x), and log(1 / (1 + exp(x))), the logarithm of
/// sigmoid(-x), becomes -softplus(x).
std::unique_ptr<mlir::Pass> createRaiseSoftplus();

} // namespace skewer
