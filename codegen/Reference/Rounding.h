// Measures what arithmetic in the types of the text may lose: Monte Carlo arithmetic (Parker, "Monte Carlo Arithmetic:
// exploiting randomness in floating-point arithmetic", 1997). A second evaluation in float64 disturbs the result of
// each operation like a rounding to its type, and each sum like the roundings of its steps. The distance between its
// results and those of the first evaluation is the error that correct arithmetic may have.
#pragma once
#include <cstdint>

namespace skewer::reference {

/// The disturbance of an evaluation. Another seed draws other roundings.
struct Roundings {
  uint64_t seed = 1;
  /// Factor on the loss of sums of products of f32, for products that tensor cores compute as three products of tf32.
  double products = 1;
};

/// Standard deviation of the rounding error of a number, divided by the number and by the type's unit roundoff, if all
/// mantissas are equally likely on a logarithmic scale. The error is uniform within half a step (sqrt(1/3)), and a step
/// is smaller than the number by sqrt(3/(8 ln 2)) on average.
constexpr double kRoundingDeviation = 0.42;
/// Standard deviation of the rounding error of a number below the smallest normal one, divided by the distance of two
/// such numbers: the error is uniform within half of that distance (sqrt(1/12)).
constexpr double kStepDeviation = 0.288675134594812882;
constexpr double kUnitOfF32 = 0x1p-24;

/// The partial sums of one sum of products, in the order of the text, in chains as in kernels. If the first terms are
/// large, all later partial sums are large too, and so are their roundings.
class PartialSums {
public:
  void add(double product) { add(product, product * product, 1); }
  /// Adds `count` products at once, given their sum and their sum of squares.
  void add(double sum, double squares, int64_t count);
  int64_t count() const { return products; }
  /// Returns the sum of the squares of the partial sums: within chains, and of the sums of chains.
  double squares() const;

private:
  void endChain();

  double chain = 0, ofChains = 0; // the current chain's sum, and the sum of the ended chains
  double all = 0;
  int64_t inChain = 0, products = 0;
};

/// The disturbance of one node of the function.
struct NodeRoundings {
  double unit = 0;     // unit roundoff of the result's type; 0: the node rounds nothing
  double step = 0;     // distance of two numbers of the type that are smaller than its normal ones
  uint64_t stream = 0; // different for each node
  bool isOn = false;
  Roundings all;

  explicit operator bool() const { return isOn && unit > 0; }
  /// Draws a uniform number of mean 0 and standard deviation 1, the same for the same element and purpose.
  double draw(int64_t element, uint64_t purpose = 0) const;
  /// Returns the value rounded to the type; unchanged if the type holds it exactly or if it is not finite.
  double round(double value, int64_t element) const;
  /// Returns what f32 roundings add to a sum whose partial sums are these, if each of them is rounded.
  double ofSum(const PartialSums &, int64_t element) const;
};

} // namespace skewer::reference
