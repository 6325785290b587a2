// floordiv and mod: the rules that fold the indices of reshapes, pads and slices.
//
// (a*n + b) floordiv n = a and mod n = b where 0 <= b < n. The coefficients of a numerator can be split in several
// ways, 27 = 28*0 + 27 = 28*1 - 1. Each way is tried, and the remainder's bounds under the assumptions give the
// multiple of n that moves from b to a.
#include "dialect/Subscript/Simplifier.h"
#include <algorithm>
#include <numeric>
#include <set>

namespace skewer::subscript {

namespace {
constexpr size_t kMaximumSplitTerms = 6; // 64 ways to split
constexpr size_t kMaximumDivisions = 24; // each pair is tried

int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }
/// Returns whether the expression divides by a positive constant. Other divisions have no value and stay as they are.
bool isDivision(const Expr &e, Kind kind) {
  return e.kind() == kind && e.operands()[1].isConstant() && e.operands()[1].value() > 0;
}
bool isAnyDivision(const Expr &e) { return e.kind() == Kind::FloorDiv || e.kind() == Kind::Mod; }
size_t countDivisions(const Linear &l) {
  return std::count_if(l.terms.begin(), l.terms.end(), [](const Term &t) { return isAnyDivision(t.atom); });
}
} // namespace

Linear Simplifier::divide(const Expr &e, const Linear &numerator, const Linear &divisor) {
  bool floor = e.kind() == Kind::FloorDiv;
  if (divisor.isConstant()) {
    int64_t n = divisor.constant;
    if (n <= 0)
      return leave(e, {toExpr(numerator), Expr(n)}); // never has a value
    return floor ? quotient(numerator, n) : remainder(numerator, n);
  }
  if (const Expr *n = divisor.soleAtom())
    if (auto split = splitBySymbol(numerator, *n))
      return floor ? split->quotient : split->remainder;
  return leave(e, {toExpr(numerator), toExpr(divisor)});
}

/// Splits the numerator into i*n + j with 0 <= j < n, for a divisor that is known at run time only.
std::optional<Simplifier::Split> Simplifier::splitBySymbol(const Linear &numerator, const Expr &divisor) {
  Split split;
  for (const Term &t : numerator.terms) {
    std::vector<Expr> rest;
    bool divides = false;
    Expr e = t.atom;
    for (; e.kind() == Kind::Mul; e = e.operands()[0]) { // products associate to the left
      bool here = !divides && e.operands()[1] == divisor;
      divides |= here;
      if (!here)
        rest.push_back(e.operands()[1]);
    }
    if (!divides && e == divisor)
      divides = true;
    else
      rest.push_back(e);
    if (!divides) {
      split.remainder.terms.push_back(t);
      continue;
    }
    Expr factor = rest.empty() ? Expr(1) : rest.back();
    for (size_t k = rest.size(); k-- > 1;)
      factor = factor * rest[k - 1];
    auto sum = combine(split.quotient, factor.isConstant() ? Linear(1) : Linear::of(factor), t.coefficient);
    if (!sum)
      return std::nullopt;
    split.quotient = std::move(*sum);
  }
  split.remainder.constant = numerator.constant;
  if (split.remainder == Linear(0))
    return split; // wherever there is a value, the divisor is positive
  auto excess = combine(split.remainder, Linear::of(divisor), -1);
  if (excess && boundsOf(split.remainder).low >= 0 && boundsOf(*excess).high < 0)
    return split;
  return std::nullopt;
}

std::optional<Simplifier::Split> Simplifier::resolve(const Linear &numerator, int64_t n) {
  // coefficient = n*q + r with r in [0, n); each term with r != 0 may instead take q + 1 and r - n.
  Split base;
  std::vector<Term> loose; // coefficient is r
  base.remainder.constant = floorModulo(numerator.constant, n);
  base.quotient.constant = floorDivide(numerator.constant, n);
  uint64_t natural = 0, nearest = 0;
  for (const Term &t : numerator.terms) {
    int64_t q = floorDivide(t.coefficient, n), r = floorModulo(t.coefficient, n);
    if (q)
      base.quotient.terms.push_back({t.atom, q});
    if (!r)
      continue;
    if (loose.size() < 64) {
      natural |= static_cast<uint64_t>(t.coefficient < 0) << loose.size();
      nearest |= static_cast<uint64_t>(r > n - r) << loose.size();
    }
    loose.push_back({t.atom, r});
  }
  if (loose.size() > 64)
    return std::nullopt;
  auto attempt = [&](uint64_t raised, bool enumerate) -> std::optional<Split> {
    Split split = base;
    Linear up;
    for (size_t k = 0; k < loose.size(); ++k) {
      bool raise = raised >> k & 1;
      split.remainder.terms.push_back({loose[k].atom, loose[k].coefficient - (raise ? n : 0)});
      if (raise)
        up.terms.push_back({loose[k].atom, 1});
    }
    Interval range = enumerate ? tightBoundsOf(split.remainder) : boundsOf(split.remainder);
    if (!range.bounded() || range.empty() || floorDivide(range.low, n) != floorDivide(range.high, n))
      return std::nullopt;
    int64_t shift = floorDivide(range.low, n);
    auto down = checkedMultiply(shift, -n);
    up.constant = shift;
    auto q = combine(split.quotient, up);
    auto r = down ? combine(split.remainder, Linear(*down)) : std::nullopt;
    if (!q || !r)
      return std::nullopt;
    return Split{recombine(std::move(*q)), recombine(std::move(*r))};
  };
  if (auto split = attempt(natural, false))
    return split;
  if (nearest != natural)
    if (auto split = attempt(nearest, false))
      return split;
  if (loose.size() <= kMaximumSplitTerms)
    for (uint64_t raised = 0; raised < (1u << loose.size()); ++raised)
      if (raised != natural && raised != nearest)
        if (auto split = attempt(raised, false))
          return split;
  if (auto split = attempt(natural, true))
    return split;
  return nearest != natural ? attempt(nearest, true) : std::nullopt;
}

/// Returns the numerator as g*coarse + fine with 0 <= fine < g, where g divides n. `fine` does not affect the quotient:
/// (48*y + x) floordiv 192 = y floordiv 4 for x below 48. In the remainder it is the part below g.
std::optional<Simplifier::Coarse> Simplifier::coarsen(const Linear &numerator, int64_t n) {
  std::set<int64_t> tried;
  for (const Term &some : numerator.terms) {
    Coarse split;
    split.unit = some.coefficient == INT64_MIN ? 1 : std::gcd(some.coefficient, n);
    if (split.unit == 1 || split.unit == n || !tried.insert(split.unit).second)
      continue;
    split.fine.constant = floorModulo(numerator.constant, split.unit);
    split.coarse.constant = floorDivide(numerator.constant, split.unit);
    for (const Term &t : numerator.terms)
      if (t.coefficient % split.unit)
        split.fine.terms.push_back(t);
      else
        split.coarse.terms.push_back({t.atom, t.coefficient / split.unit});
    Interval range = boundsOf(split.fine);
    if (split.fine.terms.empty() || !range.within(0, split.unit - 1))
      continue;
    return split;
  }
  return std::nullopt;
}

Linear Simplifier::quotient(const Linear &numerator, int64_t n) {
  if (n == 1)
    return numerator;
  if (auto split = resolve(numerator, n))
    return split->quotient;
  // Extract whole multiples of n, with the sign of their coefficients, so that bounds stay tight.
  Linear whole, rest;
  whole.constant = floorDivide(numerator.constant, n);
  rest.constant = floorModulo(numerator.constant, n);
  for (const Term &t : numerator.terms) {
    if (t.coefficient / n)
      whole.terms.push_back({t.atom, t.coefficient / n});
    if (t.coefficient % n)
      rest.terms.push_back({t.atom, t.coefficient % n});
  }
  int64_t g = std::gcd(rest.contentOfCoefficients(), n);
  if (g > 1) {
    for (Term &t : rest.terms)
      t.coefficient /= g;
    rest.constant /= g;
    n /= g;
  }
  auto withWhole = [&](const Linear &part) {
    auto sum = combine(whole, part);
    return sum ? recombine(std::move(*sum)) : Linear::of(floorDiv(toExpr(numerator), Expr(n * g)));
  };
  if (rest.isConstant() || n == 1)
    return withWhole(n == 1 ? rest : Linear(0));
  if (auto split = separating ? coarsen(rest, n) : std::nullopt)
    return withWhole(quotient(split->coarse, n / split->unit));
  if (const Expr *atom = rest.atomAndConstant()) {
    const auto &o = atom->operands();
    // (x floordiv a + c) floordiv n = (x + a*c) floordiv (a*n)
    if (isDivision(*atom, Kind::FloorDiv)) {
      int64_t a = o[1].value();
      auto c = checkedMultiply(a, rest.constant);
      auto both = checkedMultiply(a, n);
      auto inner = c ? combine(linear(o[0]), Linear(*c)) : std::nullopt;
      if (inner && both)
        return withWhole(quotient(*inner, *both));
    }
    // (x mod (n*k)) floordiv n = (x floordiv n) mod k
    if (isDivision(*atom, Kind::Mod) && rest.constant == 0 && o[1].value() % n == 0)
      return withWhole(remainder(quotient(linear(o[0]), n), o[1].value() / n));
  }
  return withWhole(Linear::of(floorDiv(toExpr(rest), Expr(n))));
}

Linear Simplifier::remainder(const Linear &numerator, int64_t n) {
  if (n == 1)
    return Linear(0);
  if (auto split = resolve(numerator, n))
    return split->remainder;
  if (auto together = recombineModulo(numerator, n))
    return remainder(*together, n);
  if (auto split = separating ? coarsen(numerator, n) : std::nullopt)
    if (auto sum = combine(split->fine, remainder(split->coarse, n / split->unit), split->unit))
      return recombine(std::move(*sum));
  // Choose coefficients of the least magnitude; c*(x mod m) is c*x if n divides c*m.
  std::optional<Linear> rest = Linear(floorModulo(numerator.constant, n));
  bool opened = false;
  for (const Term &t : numerator.terms) {
    int64_t r = floorModulo(t.coefficient, n);
    r = r > n - r ? r - n : r;
    if (!r)
      continue;
    Linear part = Linear::of(t.atom);
    if (isDivision(t.atom, Kind::Mod)) {
      int64_t m = t.atom.operands()[1].value();
      if (m % (n / std::gcd(n, magnitude(r))) == 0) {
        part = linear(t.atom.operands()[0]);
        opened = true;
      }
    }
    rest = combine(*rest, part, r);
    if (!rest)
      return Linear::of(mod(toExpr(numerator), Expr(n)));
  }
  if (opened)
    return remainder(*rest, n);
  int64_t g = std::gcd(rest->contentOfCoefficients(), n);
  if (g > 1) {
    int64_t low = floorModulo(rest->constant, g);
    rest->constant = floorDivide(rest->constant, g);
    for (Term &t : rest->terms)
      t.coefficient /= g;
    if (auto sum = combine(Linear(low), remainder(*rest, n / g), g))
      return recombine(std::move(*sum));
    return Linear::of(mod(toExpr(numerator), Expr(n)));
  }
  return Linear::of(mod(toExpr(*rest), Expr(n)));
}

/// As `recombine`, but modulo n: -5*(x floordiv 6) + x mod 6 is x modulo 11. Nothing if the number of divisions does
/// not decrease.
std::optional<Linear> Simplifier::recombineModulo(const Linear &numerator, int64_t n) {
  size_t divisions = countDivisions(numerator);
  if (divisions < 2 || divisions > kMaximumDivisions)
    return std::nullopt;
  for (const Term &part : numerator.terms) {
    if (!isDivision(part.atom, Kind::Mod))
      continue;
    int64_t m = part.atom.operands()[1].value();
    auto whole = checkedMultiply(part.coefficient, m);
    for (const Term &quotient : numerator.terms) {
      if (!whole || !isDivision(quotient.atom, Kind::FloorDiv) || !quotient.atom.operands()[1].isConstant(m))
        continue;
      auto apart = checkedSubtract(*whole, quotient.coefficient);
      if (!apart || *apart == 0 || *apart % n)
        continue;
      auto sum = combine(numerator, Linear::of(quotient.atom), *apart);
      if (!sum)
        continue;
      Linear together = recombine(std::move(*sum));
      if (countDivisions(together) < divisions)
        return together;
    }
  }
  return std::nullopt;
}

/// Merges the quotient and the remainder of one number, (x floordiv n)*n + x mod n = x, and similar forms.
Linear Simplifier::recombine(Linear l) {
  while (size_t divisions = countDivisions(l)) {
    if (divisions > kMaximumDivisions)
      return l;
    std::optional<Linear> better;
    for (const Term &t : l.terms) {
      if (!isAnyDivision(t.atom) || !t.atom.operands()[1].isConstant() || t.atom.operands()[1].value() <= 0)
        continue;
      int64_t n = t.atom.operands()[1].value();
      if (t.atom.kind() == Kind::FloorDiv) {
        // x - n*(x floordiv n) = x mod n
        if (t.coefficient % n || t.coefficient == INT64_MIN)
          continue;
        int64_t m = -t.coefficient / n;
        Linear x = linear(t.atom.operands()[0]);
        auto rest = combine(without(l, t.atom), x, -m);
        if (rest && rest->terms.size() + x.terms.size() + 1 == l.terms.size())
          better = combine(*rest, remainder(x, n), m);
      } else if (divisions > 1) {
        Linear x = linear(t.atom.operands()[0]);
        // The same with a numerator that differs by multiples of n: n*((28*i + j) floordiv 28) + j mod 28 = 28*i + j.
        for (const Term &other : l.terms) {
          auto whole = checkedMultiply(t.coefficient, n);
          if (!isDivision(other.atom, Kind::FloorDiv) || !other.atom.operands()[1].isConstant(n) ||
              other.coefficient != whole)
            continue;
          Linear y = linear(other.atom.operands()[0]);
          auto apart = combine(y, x, -1);
          if (!apart || apart->contentOfCoefficients() % n || apart->constant % n)
            continue;
          better = combine(without(without(l, t.atom), other.atom), y, t.coefficient);
          break;
        }
        if (better && countDivisions(*better) < divisions)
          break;
        better.reset();
        // n*(x floordiv n) + x mod n = x: eliminating the remainder must cancel a quotient.
        auto rest = combine(without(l, t.atom), x, t.coefficient);
        auto multiple = checkedMultiply(t.coefficient, -n);
        rest = rest && multiple ? combine(*rest, quotient(x, n), *multiple) : std::nullopt;
        if (rest && countDivisions(*rest) + 2 <= divisions + countDivisions(x)) {
          better = std::move(rest);
        } else if (const Expr *inner = x.soleAtom(); inner && isDivision(*inner, Kind::FloorDiv)) {
          // a*((y floordiv a) mod n) + y mod a = y mod (a*n)
          int64_t a = inner->operands()[1].value();
          Linear y = linear(inner->operands()[0]);
          Linear low = remainder(y, a);
          const Expr *lowAtom = low.soleAtom();
          auto both = checkedMultiply(a, n);
          if (!lowAtom || !both || t.coefficient % a || l.coefficientOf(*lowAtom) != t.coefficient / a)
            continue;
          better = combine(without(without(l, t.atom), *lowAtom), remainder(y, *both), t.coefficient / a);
        }
      }
      if (better && (countDivisions(*better) < divisions || better->terms.size() < l.terms.size()))
        break;
      better.reset();
    }
    if (!better)
      return l;
    l = std::move(*better);
  }
  return l;
}

} // namespace skewer::subscript
