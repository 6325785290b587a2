// Computes the elements of operations on single elements.
#include "codegen/Reference/ElementNodes.h"
#include <algorithm>
#include <cmath>

namespace skewer::reference {

PadNode::PadNode(std::vector<int64_t> shape, Node *input, std::vector<int64_t> low, double value, Failure &failure)
    : Node(std::move(shape), failure), input(input), low(std::move(low)), value(value) {
  mayBeAbsent = input->mayBeAbsent;
}
double PadNode::compute(const int64_t *index) {
  int64_t inner[kMaximumRank];
  for (size_t d = 0; d < shape.size(); ++d)
    inner[d] = index[d] - low[d];
  return input->contains(inner) ? input->at(inner) : value;
}

ReshapeNode::ReshapeNode(std::vector<int64_t> shape, Node *input, Failure &failure)
    : Node(std::move(shape), failure), input(input) {
  mayBeAbsent = input->mayBeAbsent;
}
double ReshapeNode::compute(const int64_t *index) {
  int64_t inner[kMaximumRank], rest = flat(index);
  for (size_t d = input->shape.size(); d-- > 0;) {
    inner[d] = rest % input->shape[d];
    rest /= input->shape[d];
  }
  return input->at(inner);
}

SliceNode::SliceNode(std::vector<int64_t> shape, Node *input, std::vector<int64_t> offsets,
                     std::vector<int64_t> strides, Failure &failure)
    : Node(std::move(shape), failure), input(input), offsets(std::move(offsets)), strides(std::move(strides)) {
  mayBeAbsent = input->mayBeAbsent;
}
double SliceNode::compute(const int64_t *index) {
  int64_t inner[kMaximumRank];
  for (size_t d = 0; d < shape.size(); ++d)
    inner[d] = offsets[d] + strides[d] * index[d];
  if (!input->contains(inner)) {
    failure.report("attn.slice: the operand is read at " + printIndex(inner, shape.size()) + ", outside its shape " +
                   printIndex(input->shape.data(), shape.size()));
    return 0;
  }
  return input->at(inner);
}

ConcatNode::ConcatNode(std::vector<int64_t> shape, std::vector<Node *> list, size_t dimension, Failure &failure)
    : Node(std::move(shape), failure), inputs(std::move(list)), dimension(dimension) {
  for (const Node *input : inputs)
    mayBeAbsent |= input->mayBeAbsent;
}
double ConcatNode::compute(const int64_t *index) {
  int64_t inner[kMaximumRank];
  std::copy_n(index, shape.size(), inner);
  for (Node *input : inputs) {
    if (inner[dimension] < input->shape[dimension])
      return input->at(inner);
    inner[dimension] -= input->shape[dimension];
  }
  failure.report("attn.concat: the operands have no element " + printIndex(index, shape.size()));
  return 0;
}

SkewNode::SkewNode(std::vector<int64_t> shape, Node *input, Failure &failure)
    : Node(std::move(shape), failure), input(input) {
  mayBeAbsent = input->mayBeAbsent;
}
double SkewNode::compute(const int64_t *index) {
  int64_t inner[kMaximumRank];
  std::copy_n(index, shape.size(), inner);
  size_t key = shape.size() - 1;
  inner[key] = index[key] - index[key - 1] + shape[key] - 1;
  if (!input->contains(inner)) {
    failure.report("attn.skew: the operand is read at " + printIndex(inner, shape.size()) + ", outside its shape " +
                   printIndex(input->shape.data(), shape.size()));
    return 0;
  }
  return input->at(inner);
}

GatherNode::GatherNode(std::vector<int64_t> shape, Node *input, size_t dimension, size_t indexRank,
                       std::vector<int64_t> rows, Failure &failure)
    : Node(std::move(shape), failure), input(input), dimension(dimension), indexRank(indexRank), rows(std::move(rows)) {
  mayBeAbsent = input->mayBeAbsent;
}
double GatherNode::compute(const int64_t *index) {
  int64_t inner[kMaximumRank], place = 0;
  std::copy_n(index, dimension, inner);
  for (size_t n = 0; n < indexRank; ++n)
    place = place * shape[dimension + n] + index[dimension + n];
  inner[dimension] = rows[place];
  for (size_t d = dimension + 1; d < input->shape.size(); ++d)
    inner[d] = index[d + indexRank - 1];
  if (!input->contains(inner)) {
    failure.report("attn.gather: the operand is read at " + printIndex(inner, input->shape.size()) +
                   ", outside its shape " + printIndex(input->shape.data(), input->shape.size()));
    return 0;
  }
  return input->at(inner);
}

PointwiseNode::PointwiseNode(Function function, std::vector<Node *> inputs, Failure &failure)
    : Node(inputs[0]->shape, failure), function(function), inputs(std::move(inputs)) {
  for (Node *input : this->inputs)
    mayBeAbsent |= input->mayBeAbsent;
}

double PointwiseNode::compute(const int64_t *index) {
  double a = inputs[0]->at(index), b = inputs.size() > 1 ? inputs[1]->at(index) : 0;
  if (mayBeAbsent) {
    bool goneA = isAbsent(a), goneB = inputs.size() > 1 && isAbsent(b);
    switch (function) {
    case Function::Multiply:
    case Function::Divide: // an absent element stays absent, whatever scales it
      if (goneA || (goneB && function == Function::Multiply))
        return absent();
      break;
    case Function::Add:
    case Function::Subtract:
      if (goneA && goneB)
        return absent();
      break;
    case Function::Negate:
    case Function::Identity:
    case Function::Sqrt:
    case Function::Absolute:
    case Function::Tanh:
    case Function::Sin:
    case Function::Erf:
    case Function::Floor:
    case Function::Ceil:
    case Function::Round:
      if (goneA)
        return absent();
      break;
    default:
      break;
    }
    a = present(a), b = present(b);
  }
  switch (function) {
  case Function::Add:
    return a + b;
  case Function::Subtract:
    return a - b;
  case Function::Multiply:
    return a * b;
  case Function::Divide:
    return a / b;
  case Function::Maximum: // a NaN is the result
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
  case Function::Minimum:
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
  case Function::Negate:
    return -a;
  case Function::Exp:
    return std::exp(a);
  case Function::Exp2:
    return std::exp2(a);
  case Function::Log:
    return std::log(a);
  case Function::Log2:
    return std::log2(a);
  case Function::Sqrt:
    return std::sqrt(a);
  case Function::Rsqrt:
    return 1 / std::sqrt(a);
  case Function::Tanh:
    return std::tanh(a);
  case Function::Absolute:
    return std::fabs(a);
  case Function::Sin:
    return std::sin(a);
  case Function::Cos:
    return std::cos(a);
  case Function::Erf:
    return std::erf(a);
  case Function::Floor:
    return std::floor(a);
  case Function::Ceil:
    return std::ceil(a);
  case Function::Round: // halves round to the even number
    return std::nearbyint(a);
  case Function::Power:
    return std::pow(a, b);
  case Function::Identity:
    return a;
  }
  return 0;
}

ApplyNode::ApplyNode(std::vector<int64_t> shape, const attn::ElementFunction &function, std::vector<Node *> inputs,
                     Failure &failure)
    : Node(std::move(shape), failure), function(function), inputs(std::move(inputs)) {}

double ApplyNode::compute(const int64_t *index) {
  llvm::SmallVector<double, 4> numbers;
  for (Node *input : inputs)
    numbers.push_back(present(input->at(index)));
  return function.evaluate(numbers);
}

} // namespace skewer::reference
