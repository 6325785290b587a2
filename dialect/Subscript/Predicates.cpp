// Canonical forms of comparisons, connectives and selects.
#include "dialect/Subscript/Simplifier.h"
#include <algorithm>
#include <numeric>

namespace skewer::subscript {

namespace {
constexpr int kMaximumNesting = 6;       // selects within selects that are simplified under their conditions
constexpr size_t kMaximumConjuncts = 12; // each is tried under the others

/// Rounds towards plus infinity; n > 0.
int64_t ceilDivide(int64_t a, int64_t n) { return a / n + (a % n > 0); }

/// Writes the negative part on the other side: `j <= i + 4`. The left side is never empty.
Expr relation(Kind kind, const Linear &l) {
  auto [left, right] = splitSigns(l);
  if (auto opposite = checkedSubtract(0, l.constant); opposite && !left.isConstant())
    right.constant = *opposite;
  else
    left.constant = l.constant;
  return Expr::make(kind, {toExpr(left), toExpr(right)});
}

void flatten(Kind kind, const Expr &e, std::vector<Expr> &parts) {
  if (e.kind() == kind)
    for (const Expr &operand : e.operands())
      flatten(kind, operand, parts);
  else
    parts.push_back(e);
}

std::vector<Expr> partsOf(Kind kind, const Expr &e) {
  std::vector<Expr> parts;
  flatten(kind, e, parts);
  return parts;
}
} // namespace

std::vector<Expr> conjunctsOf(const Expr &predicate) { return partsOf(Kind::And, predicate); }
std::vector<Expr> disjunctsOf(const Expr &predicate) { return partsOf(Kind::Or, predicate); }

bool isPredicate(const Expr &e) {
  switch (e.kind()) {
  case Kind::Less:
  case Kind::LessEqual:
  case Kind::Equal:
  case Kind::NotEqual:
  case Kind::And:
  case Kind::Or:
  case Kind::Not:
    return true;
  default:
    return e.isConstant(0) || e.isConstant(1);
  }
}

std::optional<Simplifier> Simplifier::assuming(const Expr &predicate) const {
  if (nesting >= kMaximumNesting || budget->contexts == 0)
    return std::nullopt;
  Simplifier inner = *this;
  inner.results.clear();
  ++inner.nesting;
  --budget->contexts;
  inner.assume(predicate);
  return inner;
}

/// Returns the value of a predicate if it, or its opposite, is assumed.
Linear Simplifier::known(Expr predicate) {
  if (predicate.isConstant())
    return Linear(predicate.value());
  if (std::find(truths.begin(), truths.end(), predicate) != truths.end())
    return Linear(1);
  if (std::find(falsities.begin(), falsities.end(), predicate) != falsities.end())
    return Linear(0);
  return Linear::of(std::move(predicate));
}

/// Returns 1 where the form is not 0, else 0.
Linear Simplifier::truth(const Linear &l) {
  const Expr *atom = l.soleAtom();
  if (l.isConstant())
    return Linear(l.constant != 0);
  return atom && l.constant == 0 && isPredicate(*atom) ? l : comparison(Kind::NotEqual, l, Linear(0));
}

Linear Simplifier::comparison(Kind kind, const Linear &a, const Linear &b) {
  auto difference = combine(a, b, -1);
  if (difference && kind == Kind::Less)
    difference = combine(*difference, Linear(1)); // a < b is a - b + 1 <= 0
  if (!difference)
    return known(Expr::make(kind, {toExpr(a), toExpr(b)}));
  Linear l = recombine(std::move(*difference));
  bool inequality = kind == Kind::Less || kind == Kind::LessEqual;
  Interval range = tightBoundsOf(l);
  if (inequality && (range.high <= 0 || range.low > 0))
    return Linear(range.high <= 0);
  if (!inequality && (range.low > 0 || range.high < 0))
    return Linear(kind == Kind::NotEqual);
  if (!inequality && range.low == 0 && range.high == 0)
    return Linear(kind == Kind::Equal);

  // A comparison of a predicate with a constant is the predicate or its opposite.
  if (l.terms.size() == 1 && isPredicate(l.terms[0].atom)) {
    auto holds = [&](int64_t value) {
      __int128 v = static_cast<__int128>(l.terms[0].coefficient) * value + l.constant;
      return inequality ? v <= 0 : (v == 0) == (kind == Kind::Equal);
    };
    if (holds(0) == holds(1))
      return Linear(holds(0));
    return holds(1) ? known(l.terms[0].atom) : negation(Linear::of(l.terms[0].atom));
  }

  int64_t g = l.contentOfCoefficients();
  if (!inequality && g > 1 && l.constant % g)
    return Linear(kind == Kind::NotEqual);
  if (g > 1) {
    for (Term &t : l.terms)
      t.coefficient /= g;
    l.constant = ceilDivide(l.constant, g); // exact for equalities
  }
  for (const Term &t : l.terms) // splitSigns cannot negate INT64_MIN
    if (t.coefficient == INT64_MIN)
      return known(Expr::make(kind, {toExpr(a), toExpr(b)}));
  if (!inequality) {
    if (l.terms[0].coefficient < 0)
      if (auto negated = scaled(l, -1))
        l = std::move(*negated);
    return known(relation(kind, l));
  }
  if (l.constant == 1) { // j + 1 <= i is written j < i
    l.constant = 0;
    return known(relation(Kind::Less, l));
  }
  return known(relation(Kind::LessEqual, l));
}

Linear Simplifier::negation(const Linear &l) {
  const Expr *atom = l.soleAtom();
  if (l.isConstant())
    return Linear(l.constant == 0);
  if (!atom || l.constant != 0 || !isPredicate(*atom))
    return comparison(Kind::Equal, l, Linear(0));
  const auto &o = atom->operands();
  switch (atom->kind()) {
  case Kind::Less:
    return comparison(Kind::LessEqual, linear(o[1]), linear(o[0]));
  case Kind::LessEqual:
    return comparison(Kind::Less, linear(o[1]), linear(o[0]));
  case Kind::Equal:
    return comparison(Kind::NotEqual, linear(o[0]), linear(o[1]));
  case Kind::NotEqual:
    return comparison(Kind::Equal, linear(o[0]), linear(o[1]));
  case Kind::And:
    return linear(logicalOr(logicalNot(o[0]), logicalNot(o[1])));
  case Kind::Or:
    return linear(logicalAnd(logicalNot(o[0]), logicalNot(o[1])));
  default:
    return truth(linear(o[0])); // not not x
  }
}

/// Returns whether the expression is known to have a value everywhere: divisors are positive, and no index leaves a
/// table.
bool Simplifier::hasValueEverywhere(const Expr &e) {
  const auto &o = e.operands();
  bool divides = e.kind() == Kind::FloorDiv || e.kind() == Kind::Mod;
  if (divides && boundsOf(linear(o[1])).low < 1)
    return false;
  if (e.kind() == Kind::Table && !boundsOf(linear(o[0])).within(0, static_cast<int64_t>(e.table().size()) - 1))
    return false;
  return std::all_of(o.begin(), o.end(), [this](const Expr &operand) { return hasValueEverywhere(operand); });
}

/// Returns the conjunction of the parts that `isTaken` selects, without part `k`; for a disjunction, of their
/// opposites.
static std::optional<Expr> otherParts(const std::vector<Expr> &parts, size_t k, bool conjunction,
                                      const std::vector<bool> &isTaken) {
  std::optional<Expr> others;
  for (size_t m = 0; m < parts.size(); ++m)
    if (m != k && isTaken[m]) {
      Expr part = conjunction ? parts[m] : logicalNot(parts[m]);
      others = others ? logicalAnd(*others, part) : part;
    }
  return others;
}

/// Returns whether part `k` adds nothing to the other parts. If another part has no value somewhere, part `k` may
/// decide alone.
bool Simplifier::isImplied(const std::vector<Expr> &parts, size_t k, bool conjunction) {
  std::vector<bool> areCertain;
  for (const Expr &part : parts)
    areCertain.push_back(hasValueEverywhere(part));
  areCertain[k] = true;
  if (std::find(areCertain.begin(), areCertain.end(), false) == areCertain.end())
    return true; // all have values: the caller has found that they imply part `k`
  auto others = otherParts(parts, k, conjunction, areCertain);
  auto inner = others ? assuming(*others) : std::nullopt;
  if (!inner || inner->contradictory())
    return false;
  Linear value = inner->truth(inner->linear(parts[k]));
  return value.isConstant() && (value.constant != 0) == conjunction;
}

/// Simplifies `and` and `or`: sorts the parts, and removes repetitions and parts that the others imply.
Linear Simplifier::connective(const Expr &e) {
  Kind kind = e.kind();
  bool conjunction = kind == Kind::And;
  std::vector<Expr> parts;
  for (const Expr &part : partsOf(kind, e)) {
    Linear t = truth(linear(part));
    if (t.isConstant() && (t.constant != 0) != conjunction)
      return t; // 0 in a conjunction, 1 in a disjunction
    if (!t.isConstant())
      flatten(kind, toExpr(t), parts);
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  if (parts.size() > 1 && parts.size() <= kMaximumConjuncts)
    for (size_t k = parts.size(); k-- > 0 && parts.size() > 1;) {
      auto inner = assuming(*otherParts(parts, k, conjunction, std::vector<bool>(parts.size(), true)));
      if (!inner)
        break;
      if (inner->contradictory())
        return Linear(!conjunction);
      Linear value = inner->truth(inner->linear(parts[k]));
      if (!value.isConstant())
        continue;
      if ((value.constant != 0) != conjunction)
        return Linear(!conjunction);
      if (isImplied(parts, k, conjunction))
        parts.erase(parts.begin() + k);
    }
  if (parts.empty())
    return Linear(conjunction);
  Expr result = parts[0];
  for (size_t k = 1; k < parts.size(); ++k)
    result = Expr::make(kind, {result, parts[k]});
  return known(result);
}

Linear Simplifier::choice(const Expr &e) {
  const auto &o = e.operands();
  Linear condition = truth(linear(o[0]));
  if (condition.isConstant())
    return linear(condition.constant ? o[1] : o[2]);
  Expr predicate = toExpr(condition);
  auto under = [&](const Expr &assumed, const Expr &value) {
    auto inner = assuming(assumed);
    return inner && !inner->contradictory() ? inner->linear(value) : linear(value);
  };
  Expr opposite = toExpr(negation(condition));
  Linear whenTrue = under(predicate, o[1]), whenFalse = under(opposite, o[2]);
  if (whenTrue == whenFalse)
    return whenTrue;
  if (whenTrue.isConstant() && whenFalse.isConstant()) {
    if (whenTrue.constant == 1 && whenFalse.constant == 0)
      return condition;
    if (whenTrue.constant == 0 && whenFalse.constant == 1)
      return linear(opposite);
  }
  // select(a <= b, a, b) is min(a, b); select(x < 0, -x, x) is abs(x).
  Linear plainTrue = linear(o[1]), plainFalse = linear(o[2]);
  if (predicate.kind() == Kind::LessEqual || predicate.kind() == Kind::Less) {
    auto less = combine(linear(predicate.operands()[0]), linear(predicate.operands()[1]), -1); // <= 0 or < 0
    auto ascending = combine(plainTrue, plainFalse, -1), descending = combine(plainFalse, plainTrue, -1);
    // At a difference of 0 both values are equal, so `<` and `<=` agree. Their forms may differ by one.
    auto matches = [&](const std::optional<Linear> &difference) {
      if (!less || !difference)
        return false;
      if (*less == *difference)
        return true;
      auto off = combine(*less, *difference, -1);
      return off && off->isConstant() && off->constant == (predicate.kind() == Kind::LessEqual ? 1 : -1);
    };
    if (matches(ascending))
      return extremum(Kind::Min, {plainTrue, plainFalse});
    if (matches(descending))
      return extremum(Kind::Max, {plainTrue, plainFalse});
    auto opposites = combine(plainTrue, plainFalse);
    if (opposites && opposites->isConstant() && opposites->constant == 0 && less) {
      if (*less == plainFalse)
        return absolute(plainFalse); // x <= 0 ? -x : x
      if (*less == plainTrue)
        if (auto negated = scaled(absolute(plainTrue), -1))
          return *negated; // x <= 0 ? x : -x
    }
  }
  if (predicate.kind() == Kind::NotEqual)
    return leave(e, {opposite, toExpr(whenFalse), toExpr(whenTrue)});
  return leave(e, {predicate, toExpr(whenTrue), toExpr(whenFalse)});
}

} // namespace skewer::subscript
