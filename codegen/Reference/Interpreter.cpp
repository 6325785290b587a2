// Builds the nodes of a function once, and computes the requested rows from them, element by element.
#include "codegen/Reference/Builder.h"

namespace skewer::reference {

struct Interpreter::Implementation {
  Failure failure;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Node *> results;
  std::string broken; // why the function cannot be interpreted
};

Interpreter::Interpreter(mlir::func::FuncOp kernel, std::vector<Tensor> inputs)
    : implementation(std::make_unique<Implementation>()) {
  Implementation &self = *implementation;
  self.results = NodeBuilder(self.nodes, self.failure).build(kernel, std::move(inputs));
  if (self.results.empty() && !self.failure.any())
    self.failure.report("the result has no value");
  self.broken = self.failure.message;
}

Interpreter::~Interpreter() = default;

void Interpreter::disturb(std::optional<Roundings> roundings) {
  for (const std::unique_ptr<Node> &node : implementation->nodes) {
    if (!node->isFixed)
      node->forget();
    node->roundings.isOn = roundings.has_value();
    node->roundings.all = roundings.value_or(Roundings());
  }
}

std::vector<int64_t> Interpreter::resultShape(size_t result) const {
  const std::vector<Node *> &results = implementation->results;
  return result < results.size() ? results[result]->shape : std::vector<int64_t>();
}

OrError<std::vector<double>> Interpreter::row(const std::vector<int64_t> &leading, size_t result) {
  Implementation &self = *implementation;
  if (!self.broken.empty())
    return Error{self.broken};
  if (result >= self.results.size())
    return Error{"there is no result " + std::to_string(result)};
  Node &node = *self.results[result];
  const std::vector<int64_t> &shape = node.shape;
  int64_t index[kMaximumRank] = {};
  // A tensor without dimensions is one number: a row of one element.
  size_t expected = shape.empty() ? 0 : shape.size() - 1;
  int64_t width = shape.empty() ? 1 : shape.back();
  if (leading.size() != expected)
    return Error{"a row of this result has " + std::to_string(expected) + " leading indices, got " +
                 std::to_string(leading.size())};
  std::copy(leading.begin(), leading.end(), index);
  if (width > 0 && !node.contains(index))
    return Error{"there is no row " + printIndex(index, leading.size()) + " in a result of shape " +
                 printIndex(shape.data(), shape.size())};
  std::vector<double> values;
  for (int64_t n = 0; n < width; ++n) {
    index[expected] = n;
    values.push_back(present(node.at(index)));
    if (self.failure.any()) {
      // The interpreter stays broken, because remembered elements may depend on the error.
      self.broken = self.failure.message;
      return Error{self.broken};
    }
  }
  return values;
}

} // namespace skewer::reference
