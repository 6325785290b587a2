// Computes rows of a softmax, and the logarithms of their sums.
#include "codegen/Reference/EinsumNode.h"
#include <algorithm>
#include <cmath>

namespace skewer::reference {

SoftmaxNode::SoftmaxNode(Reading read, Node *input, size_t dimension, bool leavesOut, std::string title,
                         Failure &failure)
    : Node(input->shape, failure), reading(std::move(read)), input(input), dimension(dimension), leavesOut(leavesOut),
      title(std::move(title)), kept(8) {
  mayBeAbsent = leavesOut || !reading.guard.empty();
  roundsItself = true;
}

/// Adds the exponentials of the differences from the largest value. The difference is rounded, and also the factor that
/// it is multiplied by where exponentials are powers of two. Both errors grow with the difference.
static double sumOfExponentials(std::vector<double> &values, double largest, const NodeRoundings &roundings,
                                int64_t firstElement) {
  double sum = 0;
  PartialSums partialSums;
  for (size_t n = 0; n < values.size(); ++n) {
    double &value = values[n];
    if (isAbsent(value))
      continue;
    double exponent = value - largest;
    value = std::exp(exponent);
    if (roundings && std::isfinite(exponent) && value > 0) // then the exponent has no large square
      value *= 1 + kRoundingDeviation * kUnitOfF32 * std::sqrt(exponent * exponent + 1.5 * 1.5) *
                       roundings.draw(firstElement + static_cast<int64_t>(n), 2);
    sum += value;
    if (roundings)
      partialSums.add(value);
  }
  return roundings ? sum + roundings.ofSum(partialSums, firstElement) : sum;
}

const double *SoftmaxNode::row(const int64_t *index) {
  int64_t here[kMaximumRank];
  std::copy_n(index, shape.size(), here);
  here[dimension] = 0;
  int64_t key = flat(here);
  if (kept[last].key == key)
    return kept[last].weights.data();
  for (size_t k = 0; k < kept.size(); ++k)
    if (kept[k].key == key) {
      last = k;
      return kept[k].weights.data();
    }
  std::vector<double> weights(static_cast<size_t>(shape[dimension]), absent());
  int64_t axes[2 * kMaximumRank] = {};
  double largest = -INFINITY;
  for (int64_t n = 0; n < shape[dimension] && !failure.any(); ++n) {
    here[dimension] = n;
    if (!reading.guard.empty()) {
      int64_t visible = 0;
      reading.axesOf(here, axes);
      if (!reading.guard.evaluate(axes, visible))
        failure.report(title + ": the mask has no value at " + reading.printAxes(axes));
      if (!visible)
        continue;
    }
    double score = present(input->at(here));
    if (leavesOut && score == -INFINITY)
      continue;
    weights[n] = score;
    largest = std::max(largest, score);
  }
  if (largest == -INFINITY) // every key is hidden or has weight 0; a NaN passes through
    largest = 0;
  double sum = sumOfExponentials(weights, largest, roundings, key);
  for (size_t n = 0; n < weights.size(); ++n) {
    if (isAbsent(weights[n]))
      continue;
    weights[n] = sum == 0 ? 0 : weights[n] / sum;
    if (roundings)
      weights[n] = roundings.round(weights[n], key + static_cast<int64_t>(n));
  }
  last = next;
  next = (next + 1) % kept.size();
  kept[last] = {key, std::move(weights)};
  return kept[last].weights.data();
}

double LogSumExpNode::compute(const int64_t *index) {
  int64_t here[kMaximumRank], axes[2 * kMaximumRank] = {};
  size_t rank = input->shape.size();
  for (size_t d = 0; d < rank; ++d)
    here[d] = d == dimension ? 0 : index[d < dimension ? d : d - 1];
  std::vector<double> values;
  for (int64_t n = 0; n < input->shape[dimension] && !failure.any(); ++n) {
    here[dimension] = n;
    int64_t visible = 1;
    if (!reading.guard.empty()) {
      reading.axesOf(here, axes);
      if (!reading.guard.evaluate(axes, visible))
        failure.report(title + ": the mask has no value at " + reading.printAxes(axes));
    }
    if (visible)
      values.push_back(present(input->at(here)));
  }
  double largest = -INFINITY;
  for (double value : values)
    largest = std::max(largest, value);
  if (largest == -INFINITY) // every key is hidden or has weight 0; a NaN passes through below
    largest = 0;
  if (largest == INFINITY) // the difference of two infinities has no value
    return largest;
  return largest + std::log(sumOfExponentials(values, largest, roundings, flat(index)));
}

} // namespace skewer::reference
