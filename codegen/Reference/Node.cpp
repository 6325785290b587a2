// Implements nodes that remember their elements, and nodes with given elements.
#include "codegen/Reference/Node.h"
#include <algorithm>

namespace skewer::reference {

namespace {
constexpr int64_t kDenseElements = int64_t(1) << 22; // 32 MiB: smaller tensors are one array
constexpr int64_t kKeptElements = int64_t(1) << 24;  // 128 MiB of rows; beyond this, all are dropped
} // namespace

std::string printIndex(const int64_t *index, size_t rank) {
  std::string text = "[";
  for (size_t d = 0; d < rank; ++d)
    text += (d ? ", " : "") + std::to_string(index[d]);
  return text + "]";
}

Node::Node(std::vector<int64_t> shape, Failure &failure) : shape(std::move(shape)), failure(failure) {
  for (int64_t size : this->shape)
    total *= size;
}

double Node::remembered(const int64_t *index) {
  double *element;
  if (total <= kDenseElements) {
    if (all.empty())
      all.assign(static_cast<size_t>(total), fromBits(kUnknownBits));
    element = &all[flat(index)];
  } else {
    int64_t length = shape.back(), position = flat(index), row = position / length;
    if (row != lastRow) {
      auto found = rows.find(row);
      if (found == rows.end()) {
        if (static_cast<int64_t>(rows.size() + 1) * length > kKeptElements)
          rows.clear();
        found = rows.emplace(row, std::make_unique<double[]>(static_cast<size_t>(length))).first;
        std::fill_n(found->second.get(), length, fromBits(kUnknownBits));
      }
      lastRow = row;
      lastElements = found->second.get();
    }
    element = lastElements + position % length;
  }
  if (bitsOf(*element) != kUnknownBits)
    return *element;
  // The computation reads other elements of this node only through other nodes, and never this element, because there
  // are no cycles. The place stays valid, because only this function drops rows.
  double value = computed(index);
  *element = value;
  return value;
}

StoredNode::StoredNode(std::vector<int64_t> shape, std::vector<double> values, Failure &failure)
    : Node(std::move(shape), failure), values(std::move(values)), strides(this->shape.size()) {
  int64_t stride = 1;
  for (size_t d = this->shape.size(); d-- > 0; stride *= this->shape[d])
    strides[d] = stride;
}

} // namespace skewer::reference
