// Nodes: the values of the interpreted function. Their elements are computed on demand, so that a few rows of a large
// layer cost little. Builder.h makes them; EinsumNode.h and ElementNodes.h define their kinds.
#pragma once
#include "codegen/Reference/Rounding.h"
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace skewer::reference {

constexpr size_t kMaximumRank = 32;

// An absent element is one that a mask or a condition removed. It is not the number 0. In products it takes no part,
// whatever the other factor is; in all other operations it is 0. It is a NaN with a payload that no arithmetic
// produces, and every operation checks for it where it may occur.
inline double fromBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
constexpr uint64_t kAbsentBits = 0x7ff8'5ee0'0000'0001, kUnknownBits = 0x7ff8'5ee0'0000'0002;
inline bool isAbsent(double value) { return bitsOf(value) == kAbsentBits; }
inline double absent() { return fromBits(kAbsentBits); }
inline double present(double value) { return isAbsent(value) ? 0.0 : value; }

/// The first error of an evaluation.
struct Failure {
  std::string message;
  void report(std::string text) {
    if (message.empty())
      message = std::move(text);
  }
  bool any() const { return !message.empty(); }
};

/// Returns a text such as "[1, 0, 5]".
std::string printIndex(const int64_t *index, size_t rank);

class Node {
public:
  Node(std::vector<int64_t> shape, Failure &failure);
  virtual ~Node() = default;

  /// Returns the element at an index inside the shape.
  double at(const int64_t *index) { return remembers ? remembered(index) : computed(index); }
  /// Returns the memory of a line of elements along dimension `lineDimension()` that begins with element `index`; null
  /// if there is none. Consecutive elements are `lineStride(d)` apart in dimension d.
  virtual const double *line(const int64_t *index) { return nullptr; }
  /// Returns the distance in memory of neighbours along a dimension, 0 if they are not in one line.
  virtual int64_t lineStride(size_t dimension) const { return 0; }
  virtual bool hasLines() const { return false; }
  bool contains(const int64_t *index) const {
    for (size_t d = 0; d < shape.size(); ++d)
      if (index[d] < 0 || index[d] >= shape[d])
        return false;
    return true;
  }
  int64_t flat(const int64_t *index) const {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      position = position * shape[d] + index[d];
    return position;
  }
  int64_t elements() const { return total; }
  /// Keeps every computed element, up to a bound on memory.
  void remember() { remembers = true; }
  /// Drops all kept elements.
  virtual void forget() {
    all.clear();
    rows.clear();
    lastRow = -1;
  }

  const std::vector<int64_t> shape;
  bool mayBeAbsent = false;
  /// Its elements are the same in every evaluation: it rounds nothing, and its operands are fixed too.
  bool isFixed = false;
  NodeRoundings roundings;

protected:
  bool roundsItself = false; // the computed value already includes its roundings
  virtual double compute(const int64_t *index) = 0;
  Failure &failure;

private:
  double computed(const int64_t *index) {
    double value = compute(index);
    return roundings && !roundsItself && !isAbsent(value) ? roundings.round(value, flat(index)) : value;
  }
  double remembered(const int64_t *index);
  bool remembers = false;
  int64_t total = 1;
  std::vector<double> all;                                     // the kept elements of a small tensor
  std::unordered_map<int64_t, std::unique_ptr<double[]>> rows; // the kept rows of a large tensor
  int64_t lastRow = -1;
  double *lastElements = nullptr;
};

/// A node with given elements: an argument or a constant.
class StoredNode : public Node {
public:
  StoredNode(std::vector<int64_t> shape, std::vector<double> values, Failure &failure);
  const double *line(const int64_t *index) override { return values.data() + flat(index); }
  int64_t lineStride(size_t dimension) const override { return strides[dimension]; }
  bool hasLines() const override { return true; }

protected:
  double compute(const int64_t *index) override { return values[flat(index)]; }

private:
  std::vector<double> values;
  std::vector<int64_t> strides;
};

/// A node with the same number at every index.
class SplatNode : public Node {
public:
  SplatNode(std::vector<int64_t> shape, double value, Failure &failure)
      : Node(std::move(shape), failure), value(value) {}

protected:
  double compute(const int64_t *) override { return value; }

private:
  double value;
};

} // namespace skewer::reference
