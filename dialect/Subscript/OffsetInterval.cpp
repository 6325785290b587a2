// Predicates of a query and a key as intervals of the offset key - query.
#include "dialect/Subscript/Simplifier.h"
#include <algorithm>

namespace skewer::subscript {

namespace {
constexpr int64_t kMaximumOffsets = 1 << 18;

/// Returns the offsets with coefficient*(key - query) + constant <= 0, if the form is of that kind.
std::optional<Interval> halfLine(const Linear &l, const std::string &query, const std::string &key) {
  int64_t c = l.coefficientOf(Expr::symbol(key));
  if (l.terms.size() != 2 || c == 0 || c == INT64_MIN || l.coefficientOf(Expr::symbol(query)) != -c)
    return std::nullopt;
  if (l.constant == INT64_MIN)
    return std::nullopt;
  if (c > 0)
    return Interval{INT64_MIN, floorDivide(-l.constant, c)};
  return Interval{-floorDivide(-l.constant, -c), INT64_MAX};
}

class OffsetReader {
public:
  OffsetReader(const std::string &query, const std::string &key, const Domain &domain)
      : query(query), key(key), simplifier(domain, std::nullopt) {}

  std::optional<Interval> read(const Expr &given) { return of(simplifier.simplify(given)); }

private:
  static constexpr Interval kAll{INT64_MIN, INT64_MAX}, kNone{1, 0};

  std::optional<Interval> of(const Expr &e) {
    const auto &o = e.operands();
    switch (e.kind()) {
    case Kind::Constant:
      return e.value() ? kAll : kNone;
    case Kind::And: {
      auto a = of(o[0]), b = of(o[1]);
      return a && b ? std::optional<Interval>(a->intersect(*b)) : std::nullopt;
    }
    case Kind::Or: {
      auto a = of(o[0]), b = of(o[1]);
      if (!a || !b)
        return std::nullopt;
      if (a->empty() || b->empty())
        return a->empty() ? b : a;
      if (a->low > b->low)
        std::swap(a, b);
      bool touches = a->high == INT64_MAX || b->low <= a->high + 1;
      return touches ? std::optional<Interval>(a->unite(*b)) : std::nullopt;
    }
    case Kind::Less:
    case Kind::LessEqual: {
      auto l = combine(simplifier.linear(o[0]), simplifier.linear(o[1]), -1);
      if (l && e.kind() == Kind::Less)
        l = combine(*l, Linear(1));
      return l ? atMostZero(*l) : std::nullopt;
    }
    case Kind::Equal: {
      auto l = combine(simplifier.linear(o[0]), simplifier.linear(o[1]), -1);
      auto negated = l ? scaled(*l, -1) : std::nullopt;
      auto a = l ? halfLine(*l, query, key) : std::nullopt, b = negated ? halfLine(*negated, query, key) : std::nullopt;
      return a && b ? std::optional<Interval>(a->intersect(*b)) : std::nullopt;
    }
    default:
      return std::nullopt;
    }
  }

  /// Also handles max, min and abs: abs(x) + c <= 0 is x + c <= 0 and -x + c <= 0.
  std::optional<Interval> atMostZero(const Linear &l) {
    for (const Term &t : l.terms) {
      Kind kind = t.atom.kind();
      bool both = t.coefficient > 0;
      if (kind != Kind::Abs && kind != Kind::Max && kind != Kind::Min)
        continue;
      Linear rest = without(l, t.atom);
      auto instead = [&](const Expr &operand, int64_t coefficient) {
        auto replaced = combine(rest, simplifier.linear(operand), coefficient);
        return replaced ? atMostZero(*replaced) : std::nullopt;
      };
      const auto &o = t.atom.operands();
      auto a = instead(o[0], t.coefficient);
      auto b = kind == Kind::Abs ? (t.coefficient == INT64_MIN ? std::nullopt : instead(o[0], -t.coefficient))
                                 : instead(o[1], t.coefficient);
      if (!a || !b)
        return std::nullopt;
      bool conjunction = kind == Kind::Min ? !both : both;
      if (conjunction)
        return a->intersect(*b);
      if (a->low > b->low)
        std::swap(a, b);
      if (a->empty() || b->empty())
        return a->empty() ? b : a;
      return a->high == INT64_MAX || b->low <= a->high + 1 ? std::optional<Interval>(a->unite(*b)) : std::nullopt;
    }
    if (l.isConstant())
      return l.constant <= 0 ? kAll : kNone;
    return halfLine(l, query, key);
  }

  std::string query, key;
  Simplifier simplifier;
};

/// Handles a predicate that depends on the offset alone but is not made of half lines: evaluates it at every offset of
/// the box.
std::optional<Interval> byOffset(const Expr &predicate, const std::string &query, const std::string &key,
                                 const Domain &domain) {
  auto queries = domain.find(query), keys = domain.find(key);
  if (queries == domain.end() || keys == domain.end())
    return std::nullopt;
  auto low = checkedSubtract(keys->second.low, queries->second.high);
  auto high = checkedSubtract(keys->second.high, queries->second.low);
  if (!low || !high || *high < *low || !checkedSubtract(*high, *low) || *high - *low > kMaximumOffsets)
    return std::nullopt;
  const std::string offset = "offset of " + key; // no parsed name has a space
  Domain without;
  without[offset] = {*low, *high};
  Expr moved = simplify(substitute(predicate, {{key, Expr::symbol(query) + Expr::symbol(offset)}}), without);
  std::set<std::string> left = symbolsOf(moved);
  left.erase(offset);
  if (!left.empty())
    return std::nullopt;
  Interval found{INT64_MAX, INT64_MIN};
  for (int64_t t = *low; t <= *high; ++t) {
    auto holds = evaluate(moved, {{offset, t}});
    if (!holds)
      return std::nullopt;
    if (!*holds)
      continue;
    if (!found.empty() && found.high != t - 1)
      return std::nullopt;
    found = found.unite({t, t});
  }
  return found.empty() ? Interval{1, 0} : found;
}
} // namespace

std::optional<Range> asOffsetInterval(const Expr &predicate, const std::string &query, const std::string &key,
                                      const Domain &domain) {
  // Try without the domain first, so that `j <= i + 100` keeps its bound even if the box never reaches it.
  auto interval = OffsetReader(query, key, {}).read(predicate);
  if (!interval)
    interval = OffsetReader(query, key, domain).read(predicate);
  if (!interval)
    interval = byOffset(predicate, query, key, domain);
  if (!interval)
    return std::nullopt;
  return interval->empty() ? Range{} : Range{interval->low, interval->high};
}

} // namespace skewer::subscript
