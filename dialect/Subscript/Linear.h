// Affine forms over atoms (symbols and every expression that is not a sum), and integer intervals with open ends.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include "dialect/Subscript/Arithmetic.h"

namespace skewer::subscript {

/// Inclusive. INT64_MIN and INT64_MAX are open ends: sums and products saturate there.
struct Interval {
  int64_t low = INT64_MIN, high = INT64_MAX;
  bool empty() const { return low > high; }
  bool bounded() const { return low != INT64_MIN && high != INT64_MAX; }
  bool within(int64_t a, int64_t b) const { return a <= low && high <= b; }
  Interval operator+(const Interval &) const;
  Interval operator*(int64_t) const;
  Interval operator*(const Interval &) const;
  Interval intersect(const Interval &o) const { return {std::max(low, o.low), std::min(high, o.high)}; }
  Interval unite(const Interval &o) const { return {std::min(low, o.low), std::max(high, o.high)}; }
};

struct Term {
  Expr atom;
  int64_t coefficient;
};

/// The sum of coefficient * atom, plus a constant. Terms are ordered by atom; no coefficient is 0.
struct Linear {
  std::vector<Term> terms;
  int64_t constant = 0;

  Linear() = default;
  Linear(int64_t constant) : constant(constant) {}
  static Linear of(Expr atom) {
    Linear l;
    l.terms.push_back({std::move(atom), 1});
    return l;
  }
  bool isConstant() const { return terms.empty(); }
  /// Returns the atom if the form is exactly one atom; else null.
  const Expr *soleAtom() const { return constant == 0 ? atomAndConstant() : nullptr; }
  /// Returns the atom if the form is one atom plus a constant; else null.
  const Expr *atomAndConstant() const {
    return terms.size() == 1 && terms[0].coefficient == 1 ? &terms[0].atom : nullptr;
  }
  int64_t coefficientOf(const Expr &atom) const;
  int64_t contentOfCoefficients() const; // greatest common divisor of the coefficients, 0 without terms
  bool operator==(const Linear &o) const;
};

/// Returns a + scale * b; nothing if a coefficient overflows.
std::optional<Linear> combine(const Linear &a, const Linear &b, int64_t scale = 1);
/// Returns the form without its term of this atom.
Linear without(const Linear &, const Expr &atom);
std::optional<Linear> scaled(const Linear &, int64_t factor);
/// Builds the sum: positive terms first, larger coefficients first, then by atom; the constant last: `14*iy + ix`,
/// `j - i + 13`.
Expr toExpr(const Linear &);
/// Splits the form's terms into the positive ones and the negated negative ones. Both lack the constant.
std::pair<Linear, Linear> splitSigns(const Linear &);

} // namespace skewer::subscript
