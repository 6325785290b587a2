// What arithmetic in the types of the text may lose, as numbers: Monte Carlo arithmetic (Parker, "Monte Carlo
// Arithmetic: exploiting randomness in floating-point arithmetic", 1997). A second evaluation in float64 disturbs the
// result of each operation as a rounding to its type would, and each sum as the roundings of its steps would; how far
// its results are from those of the first one is how far honest arithmetic may be.
#pragma once
#include <cstdint>

namespace skewer::reference {

/// What disturbs an evaluation. Another seed draws other roundings.
struct Roundings {
  uint64_t seed = 1;
  /// Sums of products of f32 lose so many times as much: where they are three products of tf32 on tensor cores.
  double products = 1;
};

/// The distance of a number from the one that a type keeps for it, divided by the number and by the type's unit
/// roundoff, has this standard deviation where all mantissas are as likely on a logarithmic scale: uniform within half
/// a step, sqrt(1/3), and a step being smaller than the number by sqrt(3/(8 ln 2)) on the average.
constexpr double kRoundingDeviation = 0.42;
constexpr double kUnitOfF32 = 0x1p-24;

/// The partial sums of one sum of products, in the order in which the text has them, in chains as kernels have them:
/// where the first terms are large, all the others are rounded as they are.
class PartialSums {
public:
  void add(double product) { add(product, product * product, 1); }
  /// `count` products at once, of this sum and this sum of squares.
  void add(double sum, double squares, int64_t count);
  int64_t count() const { return products; }
  /// The sum of the partial sums' squares, of chains' and of those that chains are added up to.
  double squares() const;

private:
  void endChain();

  double chain = 0, ofChains = 0; // where the chain at hand is, and where those before ended together
  double all = 0;
  int64_t inChain = 0, products = 0;
};

/// How one node of the function is disturbed, while it is.
struct NodeRoundings {
  double unit = 0;     // unit roundoff of the result's type; 0: it rounds nothing
  uint64_t stream = 0; // another one for each node
  bool isOn = false;
  Roundings all;

  explicit operator bool() const { return isOn && unit > 0; }
  /// Mean 0, standard deviation 1, uniform, the same for the same element and purpose.
  double draw(int64_t element, uint64_t purpose = 0) const;
  /// A value rounded to the type; unchanged if it is one of the type's own, or no finite number.
  double round(double value, int64_t element) const;
  /// What the roundings of f32 add to a sum that is arrived at by these partial sums, each rounded.
  double ofSum(const PartialSums &, int64_t element) const;
};

} // namespace skewer::reference
