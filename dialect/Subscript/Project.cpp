// Projects symbols out of predicates, term by term: sound, not always tight.
#include "dialect/Subscript/Project.h"
#include "dialect/Subscript/Simplifier.h"
#include <algorithm>

namespace skewer::subscript {

namespace {
class Projection {
public:
  Projection(const std::set<std::string> &symbols, const Domain &domain)
      : symbols(symbols), simplifier(domain, std::nullopt) {}

  /// `holds` is false for the opposite of `e`. Negations are moved inwards; there `and` becomes `or` and vice versa.
  Expr of(const Expr &e, bool holds = true) {
    const auto &o = e.operands();
    if (!isPredicate(e) || e.isConstant())
      return names(e) ? Expr(1) : holds ? e : logicalNot(e);
    switch (e.kind()) {
    case Kind::Not:
      return of(o[0], !holds);
    case Kind::And:
    case Kind::Or: // exact for a disjunction; in a conjunction each part may take other values
      return (e.kind() == Kind::And) == holds ? logicalAnd(of(o[0], holds), of(o[1], holds))
                                              : logicalOr(of(o[0], holds), of(o[1], holds));
    default:
      break;
    }
    if (!names(e))
      return holds ? e : logicalNot(e);
    switch (e.kind()) {
    case Kind::LessEqual:
      return holds ? atMost(o[0], o[1], 0) : atMost(o[1], o[0], 1);
    case Kind::Less:
      return holds ? atMost(o[0], o[1], 1) : atMost(o[1], o[0], 0);
    case Kind::Equal:
    case Kind::NotEqual:
      if ((e.kind() == Kind::Equal) == holds)
        return logicalAnd(atMost(o[0], o[1], 0), atMost(o[1], o[0], 0));
      return 1;
    default:
      return 1;
    }
  }

private:
  bool names(const Expr &e) const {
    std::set<std::string> own = symbolsOf(e);
    return std::any_of(own.begin(), own.end(), [&](const std::string &name) { return symbols.count(name) != 0; });
  }

  /// Returns a + apart <= b with the projected symbols at the values that make the left side least.
  Expr atMost(const Expr &a, const Expr &b, int64_t apart) {
    auto difference = combine(simplifier.linear(a), simplifier.linear(b), -1);
    auto whole = difference ? combine(*difference, Linear(apart)) : std::nullopt;
    return whole ? atMostZero(*whole) : Expr(1);
  }

  Expr atMostZero(const Linear &l) {
    Linear left;
    Interval least{l.constant, l.constant};
    for (const Term &t : l.terms) {
      if (!names(t.atom)) {
        left.terms.push_back(t);
        continue;
      }
      // |x| <= c bounds x on both sides, and the kept part of x may have bounds of its own.
      const auto &o = t.atom.operands();
      if (t.atom.kind() == Kind::Abs && t.coefficient > 0 && t.coefficient != INT64_MAX)
        if (auto above = combine(without(l, t.atom), simplifier.linear(o[0]), t.coefficient))
          if (auto below = combine(without(l, t.atom), simplifier.linear(o[0]), -t.coefficient))
            return logicalAnd(atMostZero(*above), atMostZero(*below));
      least = least + simplifier.rangeOf(t.atom) * t.coefficient;
    }
    if (least.low == INT64_MIN || least.low == INT64_MAX)
      return 1;
    left.constant = least.low;
    return lessEqual(toExpr(left), Expr(0));
  }

  const std::set<std::string> &symbols;
  Simplifier simplifier;
};
} // namespace

Expr projectOut(const Expr &predicate, const std::set<std::string> &symbols, const Domain &domain) {
  return simplify(Projection(symbols, domain).of(simplify(predicate, domain)), domain);
}

} // namespace skewer::subscript
