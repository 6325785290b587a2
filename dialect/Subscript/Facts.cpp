// Facts about atoms and affine forms that follow from the domain and the assumptions.
#include "dialect/Subscript/Program.h"
#include "dialect/Subscript/Simplifier.h"
#include <algorithm>
#include <numeric>

namespace skewer::subscript {

namespace {
constexpr int kFactDepth = 2; // number of assumptions summed for one bound
constexpr size_t kMaximumFacts = 24;
constexpr int kPartsDepth = 8; // replacements of products, extrema and remainders, one after another, for one bound
constexpr int64_t kEnumerationPoints = 2048; // for one question

/// Returns whether the expression is a product of two unknown numbers or a division by one. Positions in maps whose
/// sizes are lengths have this form.
bool isOfOpenSizes(const Expr &e) {
  const auto &o = e.operands();
  bool isDivision = e.kind() == Kind::FloorDiv || e.kind() == Kind::Mod;
  return (isDivision && !o[1].isConstant()) || (e.kind() == Kind::Mul && !o[0].isConstant() && !o[1].isConstant()) ||
         std::any_of(o.begin(), o.end(), isOfOpenSizes);
}

bool shareSymbols(const Linear &l) {
  std::set<std::string> seen;
  for (const Term &t : l.terms)
    for (const std::string &name : symbolsOf(t.atom))
      if (!seen.insert(name).second)
        return true;
  return false;
}
} // namespace

Simplifier::Simplifier(const Domain &domain, const std::optional<Expr> &guard) : domain(domain) {
  for (const auto &[name, range] : domain)
    contradiction |= range.high < range.low;
  if (guard)
    assume(*guard);
}

void Simplifier::assume(const Expr &predicate) {
  Linear condition = truth(linear(predicate));
  if (condition.isConstant()) {
    contradiction |= condition.constant == 0;
    return;
  }
  std::vector<Expr> pending{toExpr(condition)};
  while (!pending.empty()) {
    Expr e = pending.back();
    pending.pop_back();
    if (e.kind() == Kind::And) {
      pending.insert(pending.end(), e.operands().begin(), e.operands().end());
      continue;
    }
    assumptions.push_back(e);
    bool equality = e.kind() == Kind::Equal;
    if (e.kind() == Kind::LessEqual || e.kind() == Kind::Less || equality) {
      auto l = combine(linear(e.operands()[0]), linear(e.operands()[1]), -1);
      if (l && e.kind() == Kind::Less)
        l = combine(*l, Linear(1));
      if (l) {
        addFact(*l);
        auto negated = scaled(*l, -1);
        if (equality && negated)
          addFact(*negated);
      }
    }
    truths.push_back(e);
    Linear opposite = negation(Linear::of(e));
    if (const Expr *atom = opposite.soleAtom(); atom && opposite.constant == 0)
      falsities.push_back(*atom);
  }
  propagate();
  results.clear();
  ranges.clear();
}

/// Adds also the facts about the operands of extrema and absolute values: max(a, b) <= c bounds a and b.
void Simplifier::addFact(const Linear &atMostZero, int depth) {
  if (facts.size() >= kMaximumFacts)
    return;
  if (atMostZero.isConstant()) {
    contradiction |= atMostZero.constant > 0;
    return;
  }
  facts.push_back(atMostZero);
  if (depth > 3)
    return;
  for (const Term &t : atMostZero.terms) {
    Kind kind = t.atom.kind();
    Linear rest = without(atMostZero, t.atom);
    auto instead = [&](const Expr &operand, int64_t coefficient) {
      if (auto l = combine(rest, linear(operand), coefficient))
        addFact(*l, depth + 1);
    };
    if ((kind == Kind::Max && t.coefficient > 0) || (kind == Kind::Min && t.coefficient < 0))
      for (const Expr &operand : t.atom.operands())
        instead(operand, t.coefficient);
    if (kind == Kind::Abs && t.coefficient > 0) { // so that it has an opposite
      instead(t.atom.operands()[0], t.coefficient);
      instead(t.atom.operands()[0], -t.coefficient);
    }
    if (kind == Kind::Mul && t.coefficient == -1)
      addQuotients(rest, t.atom, depth);
  }
}

/// Adds the facts that x <= a*b - 1 implies: x floordiv a <= b - 1, and the same with a and b exchanged. Rows of a map
/// whose sizes are known at run time need them.
void Simplifier::addQuotients(const Linear &afterLast, const Expr &product, int depth) {
  auto last = combine(afterLast, Linear(1), -1);
  for (size_t k = 0; last && k < 2; ++k) {
    const Expr &divisor = product.operands()[k], &other = product.operands()[1 - k];
    if (divisor.isConstant() || rangeOf(divisor).low < 1)
      continue;
    auto below = combine(linear(floorDiv(toExpr(*last), divisor)), linear(other), -1);
    if (auto fact = below ? combine(*below, Linear(1)) : std::nullopt)
      addFact(*fact, depth + 1);
  }
}

/// Narrows the ranges of atoms by each fact, in a few rounds.
void Simplifier::propagate() {
  for (int round = 0; round < 3; ++round) {
    bool changed = false;
    for (const Linear &fact : facts)
      for (size_t k = 0; k < fact.terms.size(); ++k) {
        Interval others{fact.constant, fact.constant};
        for (size_t m = 0; m < fact.terms.size(); ++m)
          if (m != k)
            others = others + rangeOf(fact.terms[m].atom) * fact.terms[m].coefficient;
        if (others.low == INT64_MIN || others.low == INT64_MAX)
          continue;
        const Expr &atom = fact.terms[k].atom;
        int64_t c = fact.terms[k].coefficient;
        Interval old = rangeOf(atom), narrowed = old;
        if (c == INT64_MIN)
          continue;
        // c * atom <= -others.low
        if (c > 0)
          narrowed.high = std::min(narrowed.high, floorDivide(-others.low, c));
        else
          narrowed.low = std::max(narrowed.low, -floorDivide(-others.low, -c));
        if (narrowed.low == old.low && narrowed.high == old.high)
          continue;
        changed = true;
        refined[atom] = narrowed;
        ranges.clear();
        if (narrowed.empty()) {
          contradiction = true;
          return;
        }
      }
    if (!changed)
      return;
  }
}

Interval Simplifier::rangeOf(const Expr &atom) {
  if (atom.isConstant())
    return {atom.value(), atom.value()};
  auto found = ranges.find(atom);
  if (found != ranges.end())
    return found->second;
  auto narrower = refined.find(atom);
  Interval assumed = narrower == refined.end() ? Interval() : narrower->second;
  // A fact may concern this atom itself. Nested calls get the range that is certain so far.
  ranges.emplace(atom, assumed);
  Interval range = computeRange(atom).intersect(assumed);
  ranges[atom] = range;
  return range;
}

Interval Simplifier::computeRange(const Expr &e) {
  const auto &o = e.operands();
  auto operand = [&](size_t k) { return boundsOf(linear(o[k])); };
  switch (e.kind()) {
  case Kind::Symbol: {
    auto found = domain.find(e.name());
    return found == domain.end() ? Interval() : Interval{found->second.low, found->second.high};
  }
  case Kind::Add:
    return operand(0) + operand(1);
  case Kind::Mul: {
    if (o[0] == o[1]) { // a square
      Interval x = operand(0), square = x * x;
      return square.intersect({0, INT64_MAX});
    }
    return operand(0) * operand(1);
  }
  case Kind::FloorDiv: {
    Interval x = operand(0), n = operand(1).intersect({1, INT64_MAX}); // elsewhere there is no value
    if (n.empty())
      return {};
    auto divided = [](int64_t v, int64_t by) { return v == INT64_MIN || v == INT64_MAX ? v : floorDivide(v, by); };
    return {divided(x.low, x.low >= 0 ? n.high : n.low), divided(x.high, x.high >= 0 ? n.low : n.high)};
  }
  case Kind::Mod: {
    Interval n = operand(1);
    if (!o[1].isConstant() || o[1].value() <= 0)
      return {0, n.high == INT64_MAX ? n.high : std::max<int64_t>(n.high, 1) - 1};
    Interval x = operand(0);
    if (x.bounded() && floorDivide(x.low, o[1].value()) == floorDivide(x.high, o[1].value()))
      return {floorModulo(x.low, o[1].value()), floorModulo(x.high, o[1].value())};
    // c*x + k reaches only the residues of k modulo the common divisor of c and n.
    Linear l = linear(o[0]);
    int64_t g = std::gcd(l.contentOfCoefficients(), o[1].value());
    int64_t low = floorModulo(l.constant, g);
    return {low, o[1].value() - g + low};
  }
  case Kind::Min: {
    Interval a = operand(0), b = operand(1);
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  }
  case Kind::Max: {
    Interval a = operand(0), b = operand(1);
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }
  case Kind::Less:
  case Kind::LessEqual:
  case Kind::Equal:
  case Kind::NotEqual:
  case Kind::And:
  case Kind::Or:
  case Kind::Not:
    return {0, 1};
  case Kind::Abs: {
    Interval x = operand(0), negated = x * -1;
    return {std::max<int64_t>({0, x.low, negated.low}), std::max(x.high, negated.high)};
  }
  case Kind::Select:
    return operand(1).unite(operand(2));
  case Kind::Table: {
    const auto &values = e.table();
    Interval row = operand(0).intersect({0, static_cast<int64_t>(values.size()) - 1});
    if (row.empty())
      return {};
    auto ends = std::minmax_element(values.begin() + row.low, values.begin() + row.high + 1);
    return {*ends.first, *ends.second};
  }
  case Kind::Read: {
    auto found = domain.find(elementsOf(e.name()));
    return found == domain.end() ? Interval() : Interval{found->second.low, found->second.high};
  }
  default:
    return {};
  }
}

Interval Simplifier::boundsOf(const Linear &l) {
  if (l.terms.empty())
    return {l.constant, l.constant};
  int depth = facts.empty() ? 0 : kFactDepth;
  int64_t high = upper(l, depth);
  auto negated = scaled(l, -1);
  int64_t opposite = negated ? upper(*negated, depth) : INT64_MAX;
  return {opposite == INT64_MAX || opposite == INT64_MIN ? INT64_MIN : -opposite, high};
}

/// Returns the least upper bound found by adding multiples of facts that cancel an atom. With the fact f <= 0,
/// l <= l - k*f.
int64_t Simplifier::upper(const Linear &l, int depth) {
  Interval sum{l.constant, l.constant};
  for (const Term &t : l.terms)
    sum = sum + rangeOf(t.atom) * t.coefficient;
  int64_t best = sum.high;
  if (depth == 0 || l.terms.empty())
    return best;
  if (partsNesting < kPartsDepth && budget->parts > 0 &&
      std::any_of(l.terms.begin(), l.terms.end(), [](const Term &t) { return isOfOpenSizes(t.atom); })) {
    ++partsNesting;
    --budget->parts;
    best = std::min(best, upperByParts(l, depth));
    --partsNesting;
  }
  for (const Linear &fact : facts)
    for (const Term &t : fact.terms) {
      int64_t mine = l.coefficientOf(t.atom);
      if (mine == 0 || mine == INT64_MIN || t.coefficient == INT64_MIN || (mine > 0) != (t.coefficient > 0))
        continue;
      int64_t g = std::gcd(mine, t.coefficient);
      int64_t scale = (t.coefficient < 0 ? -t.coefficient : t.coefficient) / g;
      int64_t multiple = (mine < 0 ? -mine : mine) / g;
      auto whole = scaled(l, scale);
      auto rest = whole ? combine(*whole, fact, -multiple) : std::nullopt;
      if (!rest)
        continue;
      int64_t bound = upper(*rest, depth - 1);
      if (bound != INT64_MAX && bound != INT64_MIN)
        best = std::min(best, floorDivide(bound, scale));
    }
  return best;
}

/// Returns the form that `factor` is multiplied by: in 2*(h*w) - h, h is multiplied by 2*w - 1. Nothing if no product
/// contains `factor`.
static std::optional<Linear> factorOf(const Linear &l, const Expr &factor, Linear &rest) {
  std::optional<Linear> others = Linear();
  bool any = false;
  rest = Linear(l.constant);
  for (const Term &t : l.terms) {
    const auto &o = t.atom.operands();
    bool isProduct = t.atom.kind() == Kind::Mul && o[0] != o[1] && (o[0] == factor || o[1] == factor);
    any |= isProduct;
    if (isProduct)
      others = others ? combine(*others, Linear::of(o[0] == factor ? o[1] : o[0]), t.coefficient) : others;
    else if (t.atom == factor)
      others = others ? combine(*others, Linear(t.coefficient)) : others;
    else
      rest.terms.push_back(t);
  }
  return any ? others : std::nullopt;
}

/// Returns an upper bound for forms that are not sums of multiples of single atoms: products of two, extrema, absolute
/// values, remainders.
int64_t Simplifier::upperByParts(const Linear &l, int depth) {
  int64_t best = INT64_MAX;
  auto improve = [&](const std::optional<Linear> &larger, int left) {
    if (larger)
      best = std::min(best, upper(*larger, left));
  };
  auto times = [&](const Linear &a, const Linear &b) { return linear(toExpr(a) * toExpr(b)); };
  for (const Term &t : l.terms) {
    const auto &o = t.atom.operands();
    // A remainder is at most its divisor minus one.
    if (t.coefficient > 0 && t.atom.kind() == Kind::Mod && !o[1].isConstant())
      if (auto rest = combine(without(l, t.atom), linear(o[1]), t.coefficient))
        improve(combine(*rest, Linear(-t.coefficient)), depth - 1);
    bool isAbs = t.atom.kind() == Kind::Abs, isMin = t.atom.kind() == Kind::Min, isMax = t.atom.kind() == Kind::Max;
    if ((isAbs && t.coefficient > 0) || isMin || isMax) {
      auto negated = isAbs ? scaled(linear(o[0]), -1) : std::nullopt;
      auto one = combine(without(l, t.atom), linear(o[0]), t.coefficient);
      auto other = isAbs ? (negated ? combine(without(l, t.atom), *negated, t.coefficient) : std::nullopt)
                         : combine(without(l, t.atom), linear(o[1]), t.coefficient);
      bool isEither = (isMin && t.coefficient > 0) || (isMax && t.coefficient < 0); // either operand bounds it
      if (one && other && isEither)
        best = std::min({best, upper(*one, depth), upper(*other, depth)});
      else if (one && other)
        best = std::min(best, std::max(upper(*one, depth), upper(*other, depth)));
    }
    if (t.atom.kind() != Kind::Mul)
      continue;
    for (const Expr &factor : o) {
      Linear rest;
      auto others = factorOf(l, factor, rest);
      if (!others)
        continue;
      Interval range = boundsOf(*others);
      auto instead = [&](const Linear &bound) { return combine(rest, times(bound, *others)); };
      if (range.low >= 0) {
        if (factor.kind() == Kind::Abs) {
          Linear x = linear(factor.operands()[0]);
          auto negated = scaled(x, -1);
          auto one = instead(x), other = negated ? instead(*negated) : std::nullopt;
          if (one && other)
            best = std::min(best, std::max(upper(*one, depth), upper(*other, depth)));
        }
        if (rangeOf(factor).high != INT64_MAX)
          improve(instead(Linear(rangeOf(factor).high)), depth);
        for (size_t k = 0; k < facts.size(); ++k)
          if (facts[k].coefficientOf(factor) == 1)
            if (auto most = scaled(without(facts[k], factor), -1))
              improve(instead(*most), depth - 1);
      } else if (range.high <= 0 && rangeOf(factor).low != INT64_MIN) {
        improve(instead(Linear(rangeOf(factor).low)), depth);
      }
    }
  }
  return best;
}

Interval Simplifier::tightBoundsOf(const Linear &l) {
  Interval range = boundsOf(l);
  if (l.terms.empty() || (assumptions.empty() && !shareSymbols(l)))
    return range;
  if (auto exact = enumerate(l))
    return exact->empty() ? range : *exact;
  return range;
}

std::optional<Interval> Simplifier::enumerate(const Linear &l) {
  // Use only the assumptions over the form's own symbols: it is sound to leave the others out.
  std::set<std::string> names;
  for (const Term &t : l.terms)
    for (const std::string &name : symbolsOf(t.atom))
      names.insert(name);
  std::vector<Expr> used;
  for (const Expr &assumption : assumptions) {
    std::set<std::string> own = symbolsOf(assumption);
    if (std::includes(names.begin(), names.end(), own.begin(), own.end()))
      used.push_back(assumption);
  }
  if (used.empty() && !shareSymbols(l))
    return std::nullopt;
  std::vector<std::string> symbols(names.begin(), names.end());
  std::vector<Interval> box;
  int64_t points = 1;
  for (const std::string &name : symbols) {
    Interval range = rangeOf(Expr::symbol(name));
    auto length = checkedSubtract(range.high, range.low);
    if (!range.bounded() || range.empty() || !length || *length >= kEnumerationPoints)
      return std::nullopt;
    points *= range.high - range.low + 1;
    box.push_back(range);
    if (points > kEnumerationPoints || points > budget->points)
      return std::nullopt;
  }
  budget->points -= points;
  Program program(symbols);
  size_t value = program.add(toExpr(l));
  std::vector<size_t> conditions;
  for (const Expr &e : used)
    conditions.push_back(program.add(e));
  std::vector<int64_t> at;
  for (const Interval &range : box)
    at.push_back(range.low);
  Interval found{INT64_MAX, INT64_MIN};
  while (true) {
    program.run(at);
    bool holds = true;
    for (size_t condition : conditions)
      holds = holds && program.value(condition).value_or(1) != 0;
    if (holds) {
      auto v = program.value(value);
      if (!v)
        return std::nullopt; // an index operand, or a point where evaluation fails
      found = {std::min(found.low, *v), std::max(found.high, *v)};
    }
    size_t k = 0;
    for (; k < at.size() && ++at[k] > box[k].high; ++k)
      at[k] = box[k].low;
    if (k == at.size())
      return found;
  }
}

} // namespace skewer::subscript
