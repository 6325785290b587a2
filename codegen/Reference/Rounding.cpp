// Draws the random roundings of results and sums, the same for the same seed, node and element.
#include "codegen/Reference/Rounding.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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

/// Returns whether a type of unit roundoff `unit` holds a number exactly: its mantissa ends in as many zeros as float64
/// has more bits than the type.
static bool isExact(double value, double unit) {
  constexpr int kBits = std::numeric_limits<double>::digits, kBias = std::numeric_limits<double>::max_exponent - 1;
  auto bitsOf = [](double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
  };
  int more = kBits + static_cast<int>(bitsOf(unit) >> (kBits - 1)) - kBias; // unit: 2 to the power of minus its bits
  return (bitsOf(value) & ((uint64_t(1) << more) - 1)) == 0;
}

double NodeRoundings::round(double value, int64_t element) const {
  bool isBelowNormal = std::fabs(value) * (2 * unit) < step;
  if (!std::isfinite(value) || (isExact(value, unit) && (!isBelowNormal || std::fmod(value, step) == 0)))
    return value;
  if (std::fabs(value) * (kRoundingDeviation * unit) < kStepDeviation * step)
    return value + std::min(kStepDeviation * step, std::fabs(value)) * draw(element);
  return value * (1 + kRoundingDeviation * unit * draw(element));
}

void PartialSums::endChain() {
  ofChains += chain;
  all += ofChains * ofChains;
  chain = 0, inChain = 0;
}

void PartialSums::add(double sum, double squares, int64_t count) {
  constexpr int64_t kChain = 256; // as in passes/Analysis/Summation.h
  if (inChain >= kChain)
    endChain();
  // The partial sums go from `from` to `to` along a straight line, plus a random walk that returns to the line.
  double from = chain, to = chain + sum, n = static_cast<double>(count);
  all += n * ((from * from + from * to + to * to) * (1.0 / 3) + squares * (1.0 / 6)) + (to * to - from * from) * 0.5;
  chain = to;
  inChain += count, products += count;
}

double PartialSums::squares() const {
  bool isOneChain = inChain == products;
  return isOneChain ? all : all + (ofChains + chain) * (ofChains + chain);
}

double NodeRoundings::ofSum(const PartialSums &sums, int64_t element) const {
  if (sums.count() < 2)
    return 0;
  return kRoundingDeviation * kUnitOfF32 * all.products * std::sqrt(sums.squares()) * draw(element, 1);
}

} // namespace skewer::reference
