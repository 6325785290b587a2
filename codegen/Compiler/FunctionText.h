// Prints the function that is applied to the scores, and the arithmetic between tensors, in the usual notation.
// `explain` and the manifest show these texts (Facts.cpp).
#pragma once
#include "mlir/IR/Region.h"
#include <functional>
#include <string>
#include <vector>

namespace skewer {

/// Returns a text such as "50 * tanh(s)" for the `through` region of an attention; `sums` are the names of its sums.
std::string textOfFunction(mlir::Region &through, const std::vector<std::string> &sums);

/// Returns a text such as "o * gate + x" for a tensor that arithmetic makes from others. `nameOf` gives their names. A
/// tensor for which `nameOf` returns nothing is replaced by its own operands. Conversions between numbers of 32 or
/// fewer bits are not shown.
std::string textOfTensor(mlir::Value, const std::function<std::string(mlir::Value)> &nameOf);

} // namespace skewer
