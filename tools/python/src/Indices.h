// Index operands whose elements are outside the range that the spec declares.
#pragma once
#include "Kernel.h"
#include <optional>

namespace skewer::python {

/// The input that a status of SKEWER_BAD_INDEX is about; nothing of other statuses.
std::optional<size_t> badIndexOperand(const std::vector<Argument> &inputs, int32_t status);
/// "indices in 0..31", "indices in 1..5 (1..N)", where the run-time sizes have these values.
std::string expectedIndices(const Argument &, const std::vector<int64_t> &sizes);
/// "32 at [0, 5]": the first element outside the range, in row-major memory without gaps.
std::string foundIndex(const Argument &, const std::vector<int64_t> &sizes, const void *data, const int64_t *shape,
                       size_t rank);

} // namespace skewer::python
