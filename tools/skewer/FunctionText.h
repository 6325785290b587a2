// The function that scores go through, as one would write it.
#pragma once
#include "mlir/IR/Region.h"
#include <functional>
#include <string>
#include <vector>

namespace skewer::driver {

/// "50 * tanh(s)" of an attention's `through`, for these names of its sums.
std::string textOfFunction(mlir::Region &through, const std::vector<std::string> &sums);

/// "o * gate + x" of a tensor that arithmetic makes of others, each as `nameOf` calls it; those of which it says
/// nothing are followed to what makes them. Conversions between numbers of 32 and fewer bits are not named.
std::string textOfTensor(mlir::Value, const std::function<std::string(mlir::Value)> &nameOf);

} // namespace skewer::driver
