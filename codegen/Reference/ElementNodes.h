// Nodes for operations on single elements: some move elements, some compute with them.
#pragma once
#include "codegen/Reference/Node.h"
#include "dialect/IR/ElementFunction.h"

namespace skewer::reference {

class PadNode : public Node {
public:
  PadNode(std::vector<int64_t> shape, Node *input, std::vector<int64_t> low, double value, Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  Node *input;
  std::vector<int64_t> low;
  double value;
};

class ReshapeNode : public Node {
public:
  ReshapeNode(std::vector<int64_t> shape, Node *input, Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  Node *input;
};

/// Concatenates tensors along a dimension.
class ConcatNode : public Node {
public:
  ConcatNode(std::vector<int64_t> shape, std::vector<Node *> inputs, size_t dimension, Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  std::vector<Node *> inputs;
  size_t dimension;
};

class SliceNode : public Node {
public:
  SliceNode(std::vector<int64_t> shape, Node *input, std::vector<int64_t> offsets, std::vector<int64_t> strides,
            Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  Node *input;
  std::vector<int64_t> offsets, strides;
};

/// Skews [l, 2l-1] to [l, l]: column j of row i is the element of offset j - i.
class SkewNode : public Node {
public:
  SkewNode(std::vector<int64_t> shape, Node *input, Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  Node *input;
};

class GatherNode : public Node {
public:
  GatherNode(std::vector<int64_t> shape, Node *input, size_t dimension, size_t indexRank, std::vector<int64_t> rows,
             Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  Node *input;
  size_t dimension, indexRank;
  std::vector<int64_t> rows;
};

/// Says which absent operands make the result absent. All other absent operands count as 0.
enum class Absence { IsZero, OfFirst, OfEither, OfBoth };

/// A function of one or two numbers.
struct Function {
  Function(Absence absence, double (*ofOne)(double)) : absence(absence), ofOne(ofOne) {}
  Function(Absence absence, double (*ofTwo)(double, double)) : absence(absence), ofTwo(ofTwo) {}
  Absence absence;
  double (*ofOne)(double) = nullptr; // one of the two is set
  double (*ofTwo)(double, double) = nullptr;
};
/// Returns the function that an operation applies, by the operation's name; null if the reference does not know it. A
/// maximum or a minimum with a NaN is a NaN; `math.roundeven` rounds halves to the even number.
const Function *findFunction(const std::string &operation);

/// Applies one function to the elements at the same index.
class PointwiseNode : public Node {
public:
  PointwiseNode(const Function &function, std::vector<Node *> inputs, Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  const Function &function;
  std::vector<Node *> inputs;
};

/// Applies a plugin's function to the elements at the same index. An absent element counts as 0.
class ApplyNode : public Node {
public:
  ApplyNode(std::vector<int64_t> shape, const attn::ElementFunction &function, std::vector<Node *> inputs,
            Failure &failure);

protected:
  double compute(const int64_t *index) override;

private:
  const attn::ElementFunction &function;
  std::vector<Node *> inputs;
};

} // namespace skewer::reference
