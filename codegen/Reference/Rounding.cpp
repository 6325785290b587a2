// Drawing roundings.
#include "codegen/Reference/Rounding.h"
#include <algorithm>
#include <cmath>

namespace skewer::reference {

double NodeRoundings::draw(int64_t element, uint64_t purpose) const {
  // splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
  uint64_t x = all.seed * 0x9e3779b97f4a7c15u + stream * 0xd1342543de82ef95u + purpose * 0xaf251af3b0f025b5u +
               static_cast<uint64_t>(element);
  for (uint64_t factor : {0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu}) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * factor;
  }
  x ^= x >> 31;
  constexpr double kSqrt3 = 1.7320508075688772;
  return (static_cast<double>(x >> 11) * 0x1p-52 - 1) * kSqrt3;
}

double NodeRoundings::round(double value, int64_t element) const {
  int exponent;
  double steps = std::frexp(value, &exponent) / unit; // whole if the type has the number
  if (!std::isfinite(value) || steps == std::rint(steps))
    return value;
  return value * (1 + kRoundingDeviation * unit * draw(element));
}

double NodeRoundings::ofSum(double sum, double squares, int64_t count, int64_t element) const {
  if (count < 2)
    return 0;
  constexpr double kChain = 256;
  // The squares of a chain's n partial sums: those of a straight line up to S, and of a random walk that returns to it.
  auto ofChain = [](double n, double sumSquared, double squares) { return n * (sumSquared / 3 + squares / 6); };
  double n = static_cast<double>(count), variance = ofChain(n, sum * sum, squares);
  if (n > kChain) // chains' sums are a walk too
    variance = ofChain(kChain, squares + sum * sum * kChain / n, squares) + ofChain(n / kChain, sum * sum, squares);
  return kRoundingDeviation * kUnitOfF32 * all.products * std::sqrt(variance) * draw(element, 1);
}

} // namespace skewer::reference
