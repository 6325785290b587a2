// Canonical forms of sums, products, extrema and tables.
#include "dialect/Subscript/Checks.h"
#include "dialect/Subscript/Memo.h"
#include "dialect/Subscript/Simplifier.h"
#include <algorithm>

namespace skewer::subscript {

namespace {
// Larger expressions stay as they are: they were not written by hand, and rewriting would take too long.
constexpr size_t kMaximumSize = 50000, kMaximumDepth = 1500;
constexpr size_t kMaximumProductTerms = 16, kMaximumExtremumOperands = 16;
} // namespace

/// Returns whether the simplified sum may pass through numbers beyond 64 bits, because its order differs from the given
/// one. Only if all symbols have a range: without a range any sum may do so, which says nothing.
static bool mayLeave64Bits(const Expr &simplified, const Domain &domain) {
  if (!findOverflow(simplified, domain))
    return false;
  auto hasRange = [&](const std::string &key) { return domain.count(key) != 0; };
  std::set<std::string> symbols = symbolsOf(simplified), reads = readsOf(simplified);
  return std::all_of(symbols.begin(), symbols.end(), hasRange) &&
         std::all_of(reads.begin(), reads.end(), [&](const std::string &read) { return hasRange(elementsOf(read)); });
}

static Expr canonical(const Expr &e, const Domain &domain, const std::optional<Expr> &guard) {
  Expr simplified = Simplifier(domain, guard).simplify(e);
  return simplified.identity() != e.identity() && mayLeave64Bits(simplified, domain) ? e : simplified;
}

Expr simplify(const Expr &e, const Domain &domain, const std::optional<Expr> &guard) {
  if (!guard && e.operands().empty())
    return canonical(e, domain, guard);
  static thread_local Memo<Expr> known;
  Expr simplified = known.answer({e, guard, domain, {}}, [&] { return canonical(e, domain, guard); });
  return simplified == e ? e : simplified; // an unchanged expression keeps its identity
}

Linear Simplifier::linear(const Expr &e) {
  if (e.isConstant())
    return Linear(e.value());
  auto found = results.find(e);
  if (found != results.end())
    return found->second;
  if (sizeOf(e) > kMaximumSize || e.depth() > kMaximumDepth)
    return Linear::of(e);
  Linear result = compute(e);
  results.emplace(e, result);
  if (const Expr *atom = result.soleAtom(); atom && result.constant == 0)
    results.emplace(*atom, result); // canonical already
  return result;
}

Linear Simplifier::leave(const Expr &e, std::vector<Expr> operands) {
  Expr left = e.withOperands(std::move(operands));
  return left.isConstant() ? Linear(left.value()) : Linear::of(left);
}

Linear Simplifier::compute(const Expr &e) {
  const auto &o = e.operands();
  switch (e.kind()) {
  case Kind::Constant:
    return Linear(e.value());
  case Kind::Symbol: {
    Interval range = rangeOf(e);
    return range.low == range.high ? Linear(range.low) : Linear::of(e);
  }
  case Kind::Add: {
    Linear a = linear(o[0]), b = linear(o[1]);
    if (auto sum = combine(a, b))
      return recombine(std::move(*sum));
    return leave(e, {toExpr(a), toExpr(b)});
  }
  case Kind::Mul:
    return product(e, linear(o[0]), linear(o[1]));
  case Kind::FloorDiv:
  case Kind::Mod:
    return divide(e, linear(o[0]), linear(o[1]));
  case Kind::Min:
  case Kind::Max:
    return extremum(e.kind(), {linear(o[0]), linear(o[1])});
  case Kind::Less:
  case Kind::LessEqual:
  case Kind::Equal:
  case Kind::NotEqual:
    return comparison(e.kind(), linear(o[0]), linear(o[1]));
  case Kind::And:
  case Kind::Or:
    return connective(e);
  case Kind::Not:
    return negation(linear(o[0]));
  case Kind::Abs:
    return absolute(linear(o[0]));
  case Kind::Select:
    return choice(e);
  case Kind::Table:
    return lookUp(e);
  case Kind::Read: {
    std::vector<Expr> subscripts;
    for (const Expr &operand : o)
      subscripts.push_back(simplify(operand));
    return Linear::of(e.withOperands(std::move(subscripts)));
  }
  }
  return Linear::of(e);
}

static void factorsOf(const Expr &e, std::vector<Expr> &factors) {
  if (e.kind() == Kind::Mul && !e.operands()[0].isConstant())
    for (const Expr &operand : e.operands())
      factorsOf(operand, factors);
  else
    factors.push_back(e);
}

Linear Simplifier::product(const Expr &e, const Linear &a, const Linear &b) {
  if (a.isConstant() || b.isConstant())
    if (auto p = a.isConstant() ? scaled(b, a.constant) : scaled(a, b.constant))
      return recombine(std::move(*p));
  if (a.isConstant() || b.isConstant() || (a.terms.size() + 1) * (b.terms.size() + 1) > kMaximumProductTerms)
    return leave(e, {toExpr(a), toExpr(b)});
  // Multiply out, so that (i + 1)*N and i*N + N become equal.
  std::optional<Linear> sum = Linear(0);
  auto addTo = [&](const Linear &part, int64_t factor) { sum = sum ? combine(*sum, part, factor) : std::nullopt; };
  for (const Term &x : a.terms)
    for (const Term &y : b.terms) {
      std::vector<Expr> factors;
      factorsOf(x.atom, factors);
      factorsOf(y.atom, factors);
      std::sort(factors.begin(), factors.end());
      Expr monomial = factors[0];
      for (size_t k = 1; k < factors.size(); ++k)
        monomial = monomial * factors[k];
      auto coefficient = checkedMultiply(x.coefficient, y.coefficient);
      if (!coefficient)
        return leave(e, {toExpr(a), toExpr(b)});
      addTo(Linear::of(monomial), *coefficient);
    }
  Linear aTerms = a, bTerms = b;
  aTerms.constant = 0;
  addTo(aTerms, b.constant);
  addTo(bTerms, a.constant); // includes the product of the constants
  return sum ? recombine(std::move(*sum)) : leave(e, {toExpr(a), toExpr(b)});
}

Linear Simplifier::extremum(Kind kind, std::vector<Linear> given) {
  bool isMin = kind == Kind::Min;
  // min(min(a, b) + c, d) is min(a + c, b + c, d).
  std::vector<Linear> operands, pending = given;
  while (!pending.empty() && operands.size() <= kMaximumExtremumOperands) {
    Linear l = std::move(pending.back());
    pending.pop_back();
    const Expr *nested = l.terms.size() == 1 && l.terms[0].coefficient == 1 ? &l.terms[0].atom : nullptr;
    bool opened = nested && nested->kind() == kind;
    std::vector<Linear> inner;
    if (opened)
      for (const Expr &operand : nested->operands()) {
        auto shifted = combine(linear(operand), Linear(l.constant));
        opened = opened && shifted;
        inner.push_back(shifted.value_or(Linear()));
      }
    if (opened)
      pending.insert(pending.end(), inner.begin(), inner.end());
    else
      operands.push_back(std::move(l));
  }
  if (!pending.empty() || operands.size() > kMaximumExtremumOperands)
    operands = std::move(given); // too many to compare each pair
  // Remove operands that never decide.
  for (size_t k = 0; k < operands.size(); ++k)
    for (size_t m = 0; m < operands.size(); ++m) {
      if (m == k)
        continue;
      auto difference = isMin ? combine(operands[m], operands[k], -1) : combine(operands[k], operands[m], -1);
      if (difference && tightBoundsOf(*difference).high <= 0) { // operand m is always at least as good
        operands.erase(operands.begin() + k);
        --k;
        break;
      }
    }
  if (operands.size() == 1)
    return operands[0];
  // max(min(v, high), low) is written min(max(v, low), high) if the two are equal.
  if (!isMin && operands.size() == 2) {
    size_t constant = operands[0].isConstant() ? 0 : 1;
    const Linear &other = operands[1 - constant];
    if (operands[constant].isConstant() && other.terms.size() == 1 && other.terms[0].coefficient == 1 &&
        other.terms[0].atom.kind() == Kind::Min && other.terms[0].atom.operands()[1].isConstant()) {
      const Expr &atom = other.terms[0].atom;
      auto high = checkedAdd(atom.operands()[1].value(), other.constant);
      auto value = combine(linear(atom.operands()[0]), Linear(other.constant));
      if (high && value && operands[constant].constant <= *high)
        return extremum(Kind::Min, {extremum(Kind::Max, {*value, operands[constant]}), Linear(*high)});
    }
  }
  // min(j - i + 64, 72) is min(j - i, 8) + 64: the first operand has no constant.
  std::vector<std::pair<Expr, Linear>> order;
  for (Linear &l : operands) {
    Linear bare = l;
    bare.constant = 0;
    order.push_back({toExpr(bare), std::move(l)});
  }
  auto before = [](const auto &a, const auto &b) {
    if (a.second.isConstant() != b.second.isConstant())
      return b.second.isConstant();
    return a.first != b.first ? a.first < b.first : a.second.constant < b.second.constant;
  };
  std::sort(order.begin(), order.end(), before);
  int64_t shift = order[0].second.constant;
  for (auto &[bare, l] : order)
    if (!checkedSubtract(l.constant, shift))
      shift = 0;
  std::optional<Expr> result;
  for (auto &[bare, l] : order) {
    auto constant = checkedSubtract(l.constant, shift);
    l.constant = constant.value_or(l.constant);
    Expr operand = toExpr(l);
    result = result ? Expr::make(kind, {*result, operand}) : operand;
  }
  Linear sum = result->isConstant() ? Linear(result->value()) : Linear::of(*result);
  return combine(sum, Linear(shift)).value_or(sum);
}

Linear Simplifier::absolute(const Linear &l) {
  Interval range = tightBoundsOf(l);
  if (range.low >= 0)
    return l;
  auto negated = scaled(l, -1);
  if (range.high <= 0 && negated)
    return *negated;
  if (l.isConstant() || !negated)
    return Linear::of(abs(toExpr(l)));
  // abs(i - j) and abs(j - i) become equal.
  return Linear::of(abs(toExpr(l.terms[0].coefficient > 0 ? l : *negated)));
}

Linear Simplifier::lookUp(const Expr &e) {
  Linear row = linear(e.operands()[0]);
  const auto &values = e.table();
  Interval range = boundsOf(row).intersect({0, static_cast<int64_t>(values.size()) - 1});
  if (range.empty())
    return leave(e, {toExpr(row)});
  if (range.low == range.high)
    return Linear(values[range.low]);
  // A table that counts up or down over the rows in use is arithmetic. This removes composed gathers.
  auto slope = checkedSubtract(values[range.low + 1], values[range.low]);
  for (int64_t r = range.low + 1; slope && r < range.high; ++r)
    if (checkedSubtract(values[r + 1], values[r]) != slope)
      slope.reset();
  if (slope) {
    auto first = checkedMultiply(*slope, -range.low);
    auto start = first ? checkedAdd(*first, values[range.low]) : std::nullopt;
    auto line = start ? combine(Linear(*start), row, *slope) : std::nullopt;
    if (line)
      return recombine(std::move(*line));
  }
  return leave(e, {toExpr(row)});
}

} // namespace skewer::subscript
