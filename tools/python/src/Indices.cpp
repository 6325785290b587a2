// Finds the bad element of an index operand. The kernel's status says only which operand has one.
#include "Indices.h"

namespace skewer::python {

std::optional<size_t> badIndexOperand(const std::vector<Argument> &inputs, int32_t status) {
  constexpr int32_t kBadIndex = 20; // SKEWER_BAD_INDEX + k: the k-th operand with a range (docs/abi.md)
  int32_t left = status - kBadIndex;
  for (size_t number = 0; left >= 0 && number < inputs.size(); ++number)
    if (inputs[number].range && left-- == 0)
      return number;
  return std::nullopt;
}

std::string expectedIndices(const Argument &argument, const std::vector<int64_t> &sizes) {
  const auto &[low, high] = *argument.range;
  std::string here = std::to_string(low.at(sizes)) + ".." + std::to_string(high.at(sizes));
  std::string declared = low.text + ".." + high.text;
  return "indices in " + here + (declared == here ? "" : " (" + declared + ")");
}

std::string foundIndex(const Argument &argument, const std::vector<int64_t> &sizes, const void *data,
                       const int64_t *shape, size_t rank) {
  int64_t elements = 1, low = argument.range->first.at(sizes), high = argument.range->second.at(sizes);
  for (size_t axis = 0; axis < rank; ++axis)
    elements *= shape[axis];
  for (int64_t place = 0; data && place < elements; ++place) {
    int32_t value = static_cast<const int32_t *>(data)[place]; // only operands of i32 have a range
    if (value >= low && value <= high)
      continue;
    std::string where;
    for (size_t axis = rank; axis-- > 0; place /= shape[axis])
      where = std::to_string(place % shape[axis]) + (where.empty() ? "" : ", ") + where;
    return std::to_string(value) + " at [" + where + "]";
  }
  return "another one"; // the memory has changed since
}

} // namespace skewer::python
