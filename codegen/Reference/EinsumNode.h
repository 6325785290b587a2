// Nodes for operations that read their operands through an einsum's text: contraction, rearrangement, positions,
// softmax.
#pragma once
#include "codegen/Reference/IndexText.h"
#include "codegen/Reference/Node.h"

namespace skewer::reference {

/// A subscript over the values of a spec's axes.
struct Subscript {
  int64_t constant = 0;
  std::vector<int64_t> coefficients;             // all 0 if not linear
  std::vector<std::pair<size_t, int64_t>> terms; // the axes whose coefficient is not 0
  Expression program;                            // if not linear
  bool isLinear = true;
  bool mayLeave = false; // an index expression whose value may be outside the operand

  bool evaluate(const int64_t *axes, int64_t &value) const {
    if (!isLinear)
      return program.evaluate(axes, value);
    value = constant;
    for (auto [axis, coefficient] : terms)
      value += coefficient * axes[axis];
    return true;
  }
};

/// A spec with known sizes. It computes the axes from a result's index, and the operands' indices from the axes.
class Reading {
public:
  /// Returns the reading of a spec; `guard` may be empty.
  static OrError<Reading> of(const Spec &, const AxisSizes &, const std::string &guard, const IndexSources &);
  /// Computes the axes of the result from an index into it; does not touch the other axes.
  void axesOf(const int64_t *resultIndex, int64_t *axes) const;
  /// Computes the operand's index. Returns false if an expression has no value.
  bool indexOf(size_t operand, const int64_t *axes, int64_t *index) const;
  std::vector<int64_t> resultShape() const;
  std::string printAxes(const int64_t *axes) const;

  std::vector<std::string> names; // the axes: the result's, then the contracted ones
  std::vector<int64_t> sizes;
  size_t kept = 0;                         // number of axes of the result
  std::vector<std::vector<size_t>> result; // positions in `names` of the axes of each dimension
  std::vector<std::vector<Subscript>> operands;
  Expression guard;

private:
  size_t placeOf(const std::string &axis) const;
  OrError<Subscript> subscriptOf(const SpecDimension &, const IndexSources &) const;
};

/// Lines of an operand as contiguous copies, by their start. A sum over keys or channels reads the same line for every
/// row of its result. So each line is computed, and gathered from its stride, once.
class PackedLines {
public:
  /// Returns `length` elements from `start` on. Each is `steps[d]` further in dimension d than the previous one. The
  /// pointer is valid until the next call.
  const double *line(Node &operand, const int64_t *start, const std::vector<int64_t> &steps, int64_t length);
  void clear() { lines.clear(); }

private:
  std::unordered_map<int64_t, std::unique_ptr<double[]>> lines; // by the flat index of their first element
};

/// Computes Σ over contracted axes of Π operands where the guard holds; with `moves`, the element of the only operand.
class EinsumNode : public Node {
public:
  EinsumNode(Reading reading, std::vector<Node *> operands, bool moves, std::string title, Failure &failure);
  void forget() override;

protected:
  double compute(const int64_t *index) override;

private:
  bool fast(int64_t *axes, double &sum, bool &any);
  void slow(int64_t *axes, double &sum, bool &any);
  double element(size_t operand, const int64_t *axes);
  bool guarded(const int64_t *axes);

  Reading reading;
  std::vector<Node *> operands;
  std::vector<size_t> order; // operands whose elements may be absent come first
  /// The steps of the last contracted axis through an operand.
  struct Inner {
    std::vector<int64_t> steps; // in each dimension of the operand
    int64_t stride = 0;         // in memory, if the operand is read in place
    bool isPacked = false;      // the operand is read from a copy of the line
    PackedLines packed;
  };
  void planInner();
  const double *lineOf(size_t operand, const int64_t *start);
  std::vector<Inner> inners; // of each operand
  bool hasFast = false, moves;
  bool guardIsOuter = false; // the guard does not depend on contracted axes
  PartialSums partialSums;   // of the current sum, if it is to be rounded
  std::string title;
};

/// Computes the largest or the least element over the axes that the result lacks.
class ExtremumNode : public Node {
public:
  ExtremumNode(Reading reading, Node *input, bool least, std::string title, Failure &failure)
      : Node(reading.resultShape(), failure), reading(std::move(reading)), input(input), least(least),
        title(std::move(title)) {}

protected:
  double compute(const int64_t *index) override;

private:
  Reading reading;
  Node *input;
  bool least;
  std::string title;
};

/// Computes the values of an index expression as numbers.
class PositionNode : public Node {
public:
  PositionNode(std::vector<int64_t> shape, Reading reading, Expression expression, std::string title, Failure &failure)
      : Node(std::move(shape), failure), reading(std::move(reading)), expression(std::move(expression)),
        title(std::move(title)) {}

protected:
  double compute(const int64_t *index) override;

private:
  Reading reading;
  Expression expression;
  std::string title;
};

/// Computes the softmax along one dimension over the elements that the mask keeps. The last few rows are cached.
class SoftmaxNode : public Node {
public:
  /// Creates the node. With `leavesOut`, keys at -inf are hidden like keys that the mask hides; else their weight is 0.
  SoftmaxNode(Reading reading, Node *input, size_t dimension, bool leavesOut, std::string title, Failure &failure);
  void forget() override {
    Node::forget();
    for (Row &row : kept)
      row.key = -1;
  }
  const double *line(const int64_t *index) override { return row(index) + index[dimension]; }
  int64_t lineStride(size_t d) const override { return d == dimension ? 1 : 0; }
  bool hasLines() const override { return true; }

protected:
  double compute(const int64_t *index) override { return row(index)[index[dimension]]; }

private:
  const double *row(const int64_t *index);
  struct Row {
    int64_t key = -1;
    std::vector<double> weights;
  };
  Reading reading; // its guard is the mask
  Node *input;
  size_t dimension;
  bool leavesOut;
  std::string title;
  std::vector<Row> kept;
  size_t next = 0, last = 0;
};

/// Computes the logarithm of the sum of exponentials along one dimension, over the elements that the mask keeps.
class LogSumExpNode : public Node {
public:
  LogSumExpNode(std::vector<int64_t> shape, Reading reading, Node *input, size_t dimension, std::string title,
                Failure &failure)
      : Node(std::move(shape), failure), reading(std::move(reading)), input(input), dimension(dimension),
        title(std::move(title)) {}

protected:
  double compute(const int64_t *index) override;

private:
  Reading reading; // its guard is the mask
  Node *input;
  size_t dimension;
  std::string title;
};

} // namespace skewer::reference
