// Shifts are divisions and products by a power of two. Code for processors turns them back into shifts.
#include "dialect/Subscript/Bits.h"

namespace skewer::subscript {

/// 2^exponent.
static Expr powerOfTwo(const Expr &exponent) {
  static const auto powers = [] {
    std::vector<int64_t> values;
    for (int bit = 0; bit < 63; ++bit)
      values.push_back(int64_t(1) << bit);
    return std::make_shared<const std::vector<int64_t>>(std::move(values));
  }();
  if (exponent.isConstant() && exponent.value() >= 0 && exponent.value() < 63)
    return (*powers)[exponent.value()];
  return Expr::table(powers, exponent);
}
Expr shiftRight(const Expr &a, const Expr &b) { return floorDiv(a, powerOfTwo(b)); }
Expr shiftLeft(const Expr &a, const Expr &b) { return a * powerOfTwo(b); }
std::optional<Expr> exponentOf(const Expr &power) {
  if (power.kind() != Kind::Table || power.table().size() > 63)
    return std::nullopt;
  for (size_t bit = 0; bit < power.table().size(); ++bit)
    if (power.table()[bit] != int64_t(1) << bit)
      return std::nullopt;
  return power.operands()[0];
}
std::optional<Expr> bitAnd(const Expr &a, int64_t mask) {
  if (mask < 0)
    return std::nullopt;
  Expr sum = 0;
  for (int64_t low = 0; mask >> low;) {
    if (!(mask >> low & 1)) {
      ++low;
      continue;
    }
    int64_t high = low;
    while (mask >> high & 1)
      ++high;
    Expr field = low ? shiftRight(a, low) : a;
    if (high == 63) // no power of two above it fits 64 bits
      return std::nullopt;
    field = mod(field, int64_t(1) << (high - low));
    sum = sum + (low ? shiftLeft(field, low) : field);
    low = high;
  }
  return sum;
}

} // namespace skewer::subscript
