// Functions of single numbers on a GPU.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace skewer {

/// On a GPU module: exp, log, sin, cos, tanh, erf and pow of f32 become arithmetic, to within a few units in the last
/// place; what is left of the math dialect the code generator knows.
std::unique_ptr<mlir::Pass> createGpuMath();

} // namespace skewer
