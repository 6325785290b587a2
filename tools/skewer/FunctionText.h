// The function that scores go through, as one would write it.
#pragma once
#include "mlir/IR/Region.h"
#include <string>
#include <vector>

namespace skewer::driver {

/// "50 * tanh(s)" of an attention's `through`, for these names of its sums.
std::string textOfFunction(mlir::Region &through, const std::vector<std::string> &sums);

} // namespace skewer::driver
