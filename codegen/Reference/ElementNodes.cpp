// Computes the elements of operations on single elements.
#include "codegen/Reference/ElementNodes.h"
#include <algorithm>
#include <cmath>
#include <map>

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

const Function *findFunction(const std::string &operation) {
  using Two = double (*)(double, double);
  static const Two maximum = [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
  };
  static const Two minimum = [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
  };
  static const Function identity(Absence::OfFirst, [](double a) { return a; });
  static const std::map<std::string, Function> functions = {
      {"arith.addf", {Absence::OfBoth, [](double a, double b) { return a + b; }}},
      {"arith.subf", {Absence::OfBoth, [](double a, double b) { return a - b; }}},
      {"arith.mulf", {Absence::OfEither, [](double a, double b) { return a * b; }}},
      {"arith.divf", {Absence::OfFirst, [](double a, double b) { return a / b; }}},
      {"arith.maximumf", {Absence::IsZero, maximum}},
      {"arith.minimumf", {Absence::IsZero, minimum}},
      {"math.powf", {Absence::IsZero, std::pow}},
      {"arith.negf", {Absence::OfFirst, [](double a) { return -a; }}},
      {"arith.sitofp", identity},
      {"arith.truncf", identity},
      {"arith.extf", identity},
      {"math.exp", {Absence::IsZero, std::exp}},
      {"math.exp2", {Absence::IsZero, std::exp2}},
      {"math.log", {Absence::IsZero, std::log}},
      {"math.log2", {Absence::IsZero, std::log2}},
      {"math.sqrt", {Absence::OfFirst, std::sqrt}},
      {"math.rsqrt", {Absence::IsZero, [](double a) { return 1 / std::sqrt(a); }}},
      {"math.tanh", {Absence::OfFirst, std::tanh}},
      {"math.absf", {Absence::OfFirst, std::fabs}},
      {"math.sin", {Absence::OfFirst, std::sin}},
      {"math.cos", {Absence::IsZero, std::cos}},
      {"math.erf", {Absence::OfFirst, std::erf}},
      {"math.floor", {Absence::OfFirst, std::floor}},
      {"math.ceil", {Absence::OfFirst, std::ceil}},
      {"math.roundeven", {Absence::OfFirst, std::nearbyint}}};
  auto found = functions.find(operation);
  return found == functions.end() ? nullptr : &found->second;
}

PointwiseNode::PointwiseNode(const Function &function, std::vector<Node *> inputs, Failure &failure)
    : Node(inputs[0]->shape, failure), function(function), inputs(std::move(inputs)) {
  for (Node *input : this->inputs)
    mayBeAbsent |= input->mayBeAbsent;
}

double PointwiseNode::compute(const int64_t *index) {
  double a = inputs[0]->at(index), b = inputs.size() > 1 ? inputs[1]->at(index) : 0;
  if (mayBeAbsent) {
    bool goneA = isAbsent(a), goneB = inputs.size() > 1 && isAbsent(b);
    if ((function.absence == Absence::OfFirst && goneA) ||
        (function.absence == Absence::OfEither && (goneA || goneB)) ||
        (function.absence == Absence::OfBoth && goneA && goneB))
      return absent();
    a = present(a), b = present(b);
  }
  return function.ofOne ? function.ofOne(a) : function.ofTwo(a, b);
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
