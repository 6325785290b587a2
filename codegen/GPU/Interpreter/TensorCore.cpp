// Adds products as tensor cores do, in integers of the terms' common unit.
#include "codegen/GPU/Interpreter/TensorCore.h"
#include "codegen/GPU/Interpreter/Numbers.h"
#include <algorithm>
#include <cmath>

using namespace skewer::gpu;

Term Term::of(float x) {
  int exponent = int(bitsOf(x) >> 23 & 255);
  if (x == 0 || exponent == 255)
    return {double(x), kNone};
  return {double(x), std::max(exponent, 1) - 127}; // subnormal numbers have the exponent of the least normal ones
}

/// Returns 2^exponent as a normal double.
static double powerOfTwo(int exponent) {
  uint64_t bits = uint64_t(1023 + exponent) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

/// Returns x truncated towards 0 to an f32; infinity if x is too large.
static float cutOff(double x) {
  constexpr double kLeastNormal = 0x1p-126, kLeast = 0x1p-149;
  if (std::fabs(x) < kLeastNormal)
    return float(std::trunc(x / kLeast) * kLeast);
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= ~((uint64_t(1) << 29) - 1); // 24 of 53 bits
  std::memcpy(&x, &bits, sizeof bits);
  return float(x);
}

float skewer::gpu::multiplyAdd(const Term *row, const Term *column, unsigned stride, unsigned depth, unsigned atOnce,
                               float sum, int guardBits) {
  for (unsigned first = 0; first < depth; first += atOnce) {
    Term before = Term::of(sum);
    int largest = before.exponent;
    double plain = before.number;
    for (unsigned k = first; k < first + atOnce; ++k) {
      const Term &x = row[k], &y = column[k * stride];
      largest = std::max(largest, x.exponent + y.exponent);
      plain += x.number * y.number;
    }
    if (!std::isfinite(plain) || largest < Term::kNone / 2) { // all terms are zeros
      sum = float(plain);
      continue;
    }
    // In units of the last guard bit, a product is below 2^27 and the previous sum below 2^26.
    double inverse = powerOfTwo(23 + guardBits - largest);
    auto units = int32_t(before.number * inverse);
    for (unsigned k = first; k < first + atOnce; ++k)
      units += int32_t(row[k].number * column[k * stride].number * inverse);
    sum = cutOff(double(units) * powerOfTwo(largest - 23 - guardBits));
  }
  return sum;
}
