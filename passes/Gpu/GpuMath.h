// Lowers functions of single numbers on a GPU to arithmetic.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace skewer {

/// Creates a pass on a GPU module: exp, log, sin, cos, tanh, erf and pow of f32 become arithmetic, exact to a few units
/// in the last place. The code generator knows the rest of the math dialect.
std::unique_ptr<mlir::Pass> createGpuMath();

} // namespace skewer
