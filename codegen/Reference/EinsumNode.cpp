// Computes contractions element by element. If possible, the sum over the last contracted axis is a dot product of two
// lines in memory, which is faster.
#include "codegen/Reference/EinsumNode.h"
#include <algorithm>
#include <cmath>

namespace skewer::reference {

/// The number of products of a line that are added at once when the roundings of their sum are tracked.
static constexpr int64_t kBlock = 16;

EinsumNode::EinsumNode(Reading read, std::vector<Node *> inputs, bool moves, std::string title, Failure &failure)
    : Node(read.resultShape(), failure), reading(std::move(read)), operands(std::move(inputs)), moves(moves),
      title(std::move(title)) {
  for (bool absents : {true, false})
    for (size_t k = 0; k < operands.size(); ++k)
      if (operands[k]->mayBeAbsent == absents) {
        order.push_back(k);
        mayBeAbsent |= absents;
      }
  roundsItself = operands.size() == 1 && reading.kept == reading.names.size(); // the node only moves an element
  guardIsOuter = true;
  for (const Expression::Node &node : reading.guard.nodes)
    if (node.operation == Expression::Operation::Axis && node.value >= static_cast<int64_t>(reading.kept))
      guardIsOuter = false;
  mayBeAbsent |= !reading.guard.empty() && guardIsOuter;
  if (!moves && reading.kept < reading.names.size() && guardIsOuter && operands.size() == 2)
    planInner();
}

/// Returns whether the value of an expression depends on an axis.
static bool reads(const Expression &expression, size_t axis) {
  return std::any_of(expression.nodes.begin(), expression.nodes.end(), [&](const Expression::Node &node) {
    return node.operation == Expression::Operation::Axis && node.value == static_cast<int64_t>(axis);
  });
}

/// Decides how a dot product of two lines reads them: in place if the elements of a line are neighbours in memory, else
/// from a copy.
void EinsumNode::planInner() {
  size_t inner = reading.names.size() - 1;
  constexpr int64_t kShortest = 8; // for a shorter line, finding its copy costs more than it saves
  hasFast = true;
  inners.resize(operands.size());
  for (size_t k = 0; k < operands.size() && hasFast; ++k) {
    Inner &own = inners[k];
    bool hasLine = operands[k]->hasLines();
    for (const Subscript &subscript : reading.operands[k]) {
      hasFast &= subscript.isLinear || !reads(subscript.program, inner);
      own.steps.push_back(subscript.coefficients[inner]);
      int64_t step = operands[k]->lineStride(own.steps.size() - 1);
      hasLine &= own.steps.back() == 0 || step != 0;
      own.stride += step * own.steps.back();
    }
    own.isPacked = !hasLine || own.stride < 0 || own.stride > 1;
    // A packed line is computed at all of its elements, also where the other factor is absent. There, the computation
    // might read outside its own operands.
    hasFast &= !own.isPacked || (reading.sizes[inner] >= kShortest && (hasLine || !mayBeAbsent));
  }
}

void EinsumNode::forget() {
  Node::forget();
  for (size_t k = 0; k < inners.size(); ++k)
    if (!operands[k]->isFixed)
      inners[k].packed.clear();
}

const double *PackedLines::line(Node &operand, const int64_t *start, const std::vector<int64_t> &steps,
                                int64_t length) {
  constexpr int64_t kKeptElements = int64_t(1) << 24; // 128 MiB; beyond this, all are dropped
  int64_t key = operand.flat(start);
  if (auto found = lines.find(key); found != lines.end())
    return found->second.get();
  auto copy = std::make_unique<double[]>(static_cast<size_t>(length));
  int64_t index[kMaximumRank];
  std::copy_n(start, steps.size(), index);
  for (int64_t n = 0; n < length; ++n) {
    copy[n] = operand.at(index);
    for (size_t d = 0; d < steps.size(); ++d)
      index[d] += steps[d];
  }
  if (static_cast<int64_t>(lines.size() + 1) * length > kKeptElements)
    lines.clear();
  return lines.emplace(key, std::move(copy)).first->second.get();
}

const double *EinsumNode::lineOf(size_t operand, const int64_t *start) {
  Inner &own = inners[operand];
  return own.isPacked ? own.packed.line(*operands[operand], start, own.steps, reading.sizes.back())
                      : operands[operand]->line(start);
}

double EinsumNode::element(size_t operand, const int64_t *axes) {
  int64_t index[kMaximumRank];
  Node &node = *operands[operand];
  if (!reading.indexOf(operand, axes, index)) {
    failure.report(title + ": a subscript of operand " + std::to_string(operand + 1) + " has no value at " +
                   reading.printAxes(axes));
    return 0;
  }
  if (!node.contains(index)) {
    failure.report(title + ": operand " + std::to_string(operand + 1) + " is read at " +
                   printIndex(index, node.shape.size()) + ", outside its shape " +
                   printIndex(node.shape.data(), node.shape.size()) + ", at " + reading.printAxes(axes));
    return 0;
  }
  return node.at(index);
}

/// Adds the products along the last contracted axis if both factors are lines; false if a line leaves its operand or
/// has no place.
bool EinsumNode::fast(int64_t *axes, double &sum, bool &any) {
  size_t inner = reading.names.size() - 1;
  int64_t length = reading.sizes[inner];
  const double *lines[2];
  int64_t starts[2][kMaximumRank];
  axes[inner] = 0;
  for (size_t k = 0; k < 2; ++k) {
    int64_t *index = starts[k];
    const std::vector<Subscript> &subscripts = reading.operands[k];
    for (size_t d = 0; d < subscripts.size(); ++d) {
      if (!subscripts[d].evaluate(axes, index[d]))
        return false;
      int64_t end = index[d] + subscripts[d].coefficients[inner] * (length - 1);
      if (std::min(index[d], end) < 0 || std::max(index[d], end) >= operands[k]->shape[d])
        return false;
    }
  }
  lines[0] = lineOf(0, starts[0]);
  lines[1] = lineOf(1, starts[1]);
  if (!inners[0].isPacked)
    lines[0] = lineOf(0, starts[0]); // computing the second line may have dropped a line that its node keeps
  int64_t strideA = inners[0].isPacked ? 1 : inners[0].stride, strideB = inners[1].isPacked ? 1 : inners[1].stride;
  const double *a = lines[0], *b = lines[1];
  if (mayBeAbsent) {
    for (int64_t begin = 0; begin < length; begin += kBlock) {
      double ofBlock = 0, squares = 0;
      int64_t end = std::min(begin + kBlock, length), count = 0;
      for (int64_t n = begin; n < end; ++n) {
        double left = a[n * strideA], right = b[n * strideB];
        if (isAbsent(left) || isAbsent(right))
          continue;
        double product = left * right;
        sum += product;
        ofBlock += product;
        squares += product * product;
        ++count;
      }
      any |= count > 0;
      if (roundings && count)
        partialSums.add(ofBlock, squares, count);
    }
    return true;
  }
  if (roundings)
    for (int64_t begin = 0; begin < length; begin += kBlock) {
      // Four sums side by side: the processor adds them at once.
      double ofBlock[4] = {0, 0, 0, 0}, squares[4] = {0, 0, 0, 0};
      int64_t end = std::min(begin + kBlock, length), n = begin;
      auto add = [&](int64_t at, int64_t p) {
        double product = a[at * strideA] * b[at * strideB];
        ofBlock[p] += product;
        squares[p] += product * product;
      };
      for (; n + 4 <= end; n += 4)
        for (int64_t p = 0; p < 4; ++p)
          add(n + p, p);
      for (; n < end; ++n)
        add(n, 0);
      partialSums.add((ofBlock[0] + ofBlock[1]) + (ofBlock[2] + ofBlock[3]),
                      (squares[0] + squares[1]) + (squares[2] + squares[3]), end - begin);
    }
  any |= length > 0;
  double parts[4] = {0, 0, 0, 0};
  int64_t n = 0;
  if (strideA == 1 && strideB == 1)
    for (; n + 4 <= length; n += 4)
      for (int64_t p = 0; p < 4; ++p)
        parts[p] += a[n + p] * b[n + p];
  for (; n < length; ++n)
    parts[0] += a[n * strideA] * b[n * strideB];
  sum += (parts[0] + parts[1]) + (parts[2] + parts[3]);
  return true;
}

bool EinsumNode::guarded(const int64_t *axes) {
  int64_t holds = 0;
  if (!reading.guard.evaluate(axes, holds))
    failure.report(title + ": the guard has no value at " + reading.printAxes(axes));
  return holds != 0;
}

/// Adds the products along the last contracted axis factor by factor. An absent factor ends its product before the
/// other factors are read.
void EinsumNode::slow(int64_t *axes, double &sum, bool &any) {
  bool contracts = reading.kept < reading.names.size();
  size_t inner = reading.names.size() - 1;
  int64_t length = contracts ? reading.sizes[inner] : 1;
  for (int64_t n = 0; n < length && !failure.any(); ++n) {
    if (contracts)
      axes[inner] = n;
    if (!guardIsOuter && !guarded(axes))
      continue;
    double product = 1;
    bool taken = true;
    for (size_t k : order) {
      double factor = element(k, axes);
      if (isAbsent(factor)) {
        taken = false;
        break;
      }
      product *= factor;
    }
    if (taken) {
      any = true;
      sum += product;
      if (roundings)
        partialSums.add(product);
    }
  }
}

/// Moves to the next point of the axes [first, end), the last axis first, like an odometer; false after the last point.
template <typename Sizes> static bool nextPoint(int64_t *axes, const Sizes &sizes, size_t first, size_t end) {
  for (size_t k = end; k > first; --k) {
    if (++axes[k - 1] < sizes[k - 1])
      return true;
    axes[k - 1] = 0;
  }
  return false;
}

double EinsumNode::compute(const int64_t *index) {
  int64_t axes[2 * kMaximumRank] = {};
  reading.axesOf(index, axes);
  if (moves)
    return element(0, axes);
  size_t first = reading.kept, count = reading.names.size();
  for (size_t k = first; k < count; ++k)
    if (reading.sizes[k] == 0)
      return 0;
  if (!reading.guard.empty() && guardIsOuter && !guarded(axes))
    return absent();
  double sum = 0;
  bool any = false;
  partialSums = {};
  while (!failure.any()) {
    if (!hasFast || !fast(axes, sum, any))
      slow(axes, sum, any);
    // The last contracted axis has already been traversed.
    if (!nextPoint(axes, reading.sizes, first, count > first ? count - 1 : first))
      break;
  }
  if (roundings)
    sum += roundings.ofSum(partialSums, flat(index));
  // If every product lost a factor to a mask, the sum is absent too.
  return any || !mayBeAbsent ? sum : absent();
}

double ExtremumNode::compute(const int64_t *index) {
  int64_t axes[2 * kMaximumRank] = {}, at[kMaximumRank];
  reading.axesOf(index, axes);
  size_t first = reading.kept, count = reading.names.size();
  double found = least ? INFINITY : -INFINITY;
  for (size_t k = first; k < count; ++k)
    if (reading.sizes[k] == 0)
      return found;
  while (!failure.any()) {
    if (!reading.indexOf(0, axes, at) || !input->contains(at)) {
      failure.report(title + ": the operand is read outside its shape at " + reading.printAxes(axes));
      break;
    }
    double one = present(input->at(at));
    if (std::isnan(one))
      return one;
    found = least ? std::min(found, one) : std::max(found, one);
    if (!nextPoint(axes, reading.sizes, first, count))
      break;
  }
  return found;
}

double PositionNode::compute(const int64_t *index) {
  int64_t axes[2 * kMaximumRank] = {}, value = 0;
  reading.axesOf(index, axes);
  if (!expression.evaluate(axes, value))
    failure.report(title + ": the expression has no value at " + reading.printAxes(axes));
  return static_cast<double>(value);
}

} // namespace skewer::reference
