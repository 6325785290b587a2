// Arithmetic on affine forms and intervals.
#include "dialect/Subscript/Linear.h"
#include <algorithm>
#include <numeric>

namespace skewer::subscript {

namespace {
using Wide = __int128;
constexpr Wide kOpen = static_cast<Wide>(1) << 100; // represents an open end in wide arithmetic

// A low end is open only at INT64_MIN, a high end only at INT64_MAX; otherwise INT64_MIN and INT64_MAX are numbers.
Wide lowEnd(int64_t v) { return v == INT64_MIN ? -kOpen : static_cast<Wide>(v); }
Wide highEnd(int64_t v) { return v == INT64_MAX ? kOpen : static_cast<Wide>(v); }
int64_t narrow(Wide v) { return v >= INT64_MAX ? INT64_MAX : v <= INT64_MIN ? INT64_MIN : static_cast<int64_t>(v); }
// An open end times 0 is 0, because the factor is exactly 0.
Wide multiply(Wide a, Wide b) {
  if (a == 0 || b == 0)
    return 0;
  bool open = a == -kOpen || a == kOpen || b == -kOpen || b == kOpen;
  return open ? ((a < 0) != (b < 0) ? -kOpen : kOpen) : a * b;
}
} // namespace

Interval Interval::operator+(const Interval &o) const {
  return {low == INT64_MIN || o.low == INT64_MIN ? INT64_MIN : narrow(lowEnd(low) + lowEnd(o.low)),
          high == INT64_MAX || o.high == INT64_MAX ? INT64_MAX : narrow(highEnd(high) + highEnd(o.high))};
}
Interval Interval::operator*(const Interval &o) const {
  Wide a = lowEnd(low), b = highEnd(high), c = lowEnd(o.low), d = highEnd(o.high);
  Wide ends[] = {multiply(a, c), multiply(a, d), multiply(b, c), multiply(b, d)};
  return {narrow(*std::min_element(ends, ends + 4)), narrow(*std::max_element(ends, ends + 4))};
}
Interval Interval::operator*(int64_t factor) const {
  // The factor is a number even at INT64_MIN and INT64_MAX.
  Wide ends[] = {multiply(lowEnd(low), factor), multiply(highEnd(high), factor)};
  return {narrow(std::min(ends[0], ends[1])), narrow(std::max(ends[0], ends[1]))};
}

int64_t Linear::coefficientOf(const Expr &atom) const {
  for (const Term &t : terms)
    if (t.atom == atom)
      return t.coefficient;
  return 0;
}

int64_t Linear::contentOfCoefficients() const {
  uint64_t g = 0;
  for (const Term &t : terms)
    g = std::gcd(g, t.coefficient < 0 ? -static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient));
  return g > static_cast<uint64_t>(INT64_MAX) ? 1 : static_cast<int64_t>(g);
}

bool Linear::operator==(const Linear &o) const {
  return constant == o.constant && terms.size() == o.terms.size() &&
         std::equal(terms.begin(), terms.end(), o.terms.begin(),
                    [](const Term &a, const Term &b) { return a.coefficient == b.coefficient && a.atom == b.atom; });
}

std::optional<Linear> combine(const Linear &a, const Linear &b, int64_t scale) {
  Linear sum;
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto constant = checkedMultiply(b.constant, scale);
  constant = constant ? checkedAdd(a.constant, *constant) : std::nullopt;
  if (!constant)
    return std::nullopt;
  sum.constant = *constant;
  auto x = a.terms.begin(), xEnd = a.terms.end();
  auto y = b.terms.begin(), yEnd = b.terms.end();
  while (x != xEnd || y != yEnd) {
    if (y == yEnd || (x != xEnd && x->atom < y->atom)) {
      sum.terms.push_back(*x++);
      continue;
    }
    auto coefficient = checkedMultiply(y->coefficient, scale);
    if (coefficient && x != xEnd && x->atom == y->atom)
      coefficient = checkedAdd(*coefficient, (x++)->coefficient);
    if (!coefficient)
      return std::nullopt;
    if (*coefficient)
      sum.terms.push_back({y->atom, *coefficient});
    ++y;
  }
  return sum;
}

Linear without(const Linear &l, const Expr &atom) {
  Linear rest(l.constant);
  for (const Term &t : l.terms)
    if (t.atom != atom)
      rest.terms.push_back(t);
  return rest;
}

std::optional<Linear> scaled(const Linear &l, int64_t factor) { return combine(Linear(), l, factor); }

Expr toExpr(const Linear &l) {
  std::vector<Term> terms = l.terms;
  auto before = [](const Term &a, const Term &b) {
    bool positive = a.coefficient > 0;
    if (positive != (b.coefficient > 0))
      return positive;
    if (a.coefficient != b.coefficient) // the larger magnitude first
      return positive ? a.coefficient > b.coefficient : a.coefficient < b.coefficient;
    return a.atom < b.atom;
  };
  std::sort(terms.begin(), terms.end(), before);
  bool constantFirst = l.constant > 0 && !terms.empty() && terms[0].coefficient < 0; // 13 - i
  Expr sum = constantFirst ? l.constant : 0;
  for (const Term &t : terms)
    sum = sum + Expr(t.coefficient) * t.atom;
  return constantFirst ? sum : sum + Expr(l.constant);
}

std::pair<Linear, Linear> splitSigns(const Linear &l) {
  Linear positive, negative;
  for (const Term &t : l.terms)
    if (t.coefficient > 0)
      positive.terms.push_back(t);
    else
      negative.terms.push_back({t.atom, t.coefficient == INT64_MIN ? INT64_MAX : -t.coefficient});
  return {positive, negative};
}

} // namespace skewer::subscript
