// Finds the index operand, and its element, that is outside the range that the spec declares: for the messages of calls
// from Python and from XLA.
#pragma once
#include "Signature.h"
#include <optional>

namespace skewer::python {

/// Returns the input that a status of SKEWER_BAD_INDEX refers to; nothing for other statuses.
std::optional<size_t> badIndexOperand(const std::vector<Argument> &inputs, int32_t status);
/// Returns "indices in 0..31" or "indices in 1..5 (1..N)", for these values of the run-time sizes.
std::string expectedIndices(const Argument &, const std::vector<int64_t> &sizes);
/// Returns the first element outside the range, in row-major memory without gaps: "32 at [0, 5]".
std::string foundIndex(const Argument &, const std::vector<int64_t> &sizes, const void *data, const int64_t *shape,
                       size_t rank);

} // namespace skewer::python
