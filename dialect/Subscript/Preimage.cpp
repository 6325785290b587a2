// For a value of an index expression: the positions that read it. Gradients of tables are sums over these.
#include "dialect/Subscript/Program.h"
#include "dialect/Subscript/Simplifier.h"
#include <algorithm>

namespace skewer::subscript {

std::vector<int64_t> preimage(const Expr &expression, int64_t target, const std::string &symbol,
                              const Assignment &others, const Domain &domain, const std::optional<Expr> &guard) {
  Substitution fixed;
  for (const auto &[name, value] : others)
    if (name != symbol)
      fixed[name] = Expr(value);
  Domain line;
  auto own = domain.find(symbol);
  if (own != domain.end())
    line[symbol] = own->second;
  Expr e = substitute(expression, fixed);
  std::optional<Expr> condition;
  if (guard)
    condition = substitute(*guard, fixed);
  Simplifier simplifier(line, condition);
  if (simplifier.contradictory())
    return {};
  Interval range = simplifier.rangeOf(Expr::symbol(symbol));
  // Narrow the range by the expression itself: c*s + k == target has one solution, (c*s + k) floordiv n == target a
  // run.
  Linear l = simplifier.linear(e);
  int64_t step = 1;
  if (l.terms.size() == 1) {
    int64_t c = l.terms[0].coefficient;
    auto left = checkedSubtract(target, l.constant);
    if (!left || c == INT64_MIN || *left == INT64_MIN || *left % c)
      return {};
    Expr atom = l.terms[0].atom;
    int64_t value = *left / c;
    Interval wanted{value, value}; // of the atom
    if (atom.kind() == Kind::FloorDiv && atom.operands()[1].isConstant() && atom.operands()[1].value() > 0) {
      int64_t n = atom.operands()[1].value();
      auto first = checkedMultiply(value, n);
      auto last = first ? checkedAdd(*first, n - 1) : std::nullopt;
      Linear inner = simplifier.linear(atom.operands()[0]);
      if (last && inner.terms.size() == 1) {
        wanted = {*first, *last};
        auto low = checkedSubtract(wanted.low, inner.constant), high = checkedSubtract(wanted.high, inner.constant);
        int64_t k = inner.terms[0].coefficient;
        if (low && high && *low > INT64_MIN && *high > INT64_MIN && k != INT64_MIN && k != 0) {
          wanted = k > 0 ? Interval{-floorDivide(-*low, k), floorDivide(*high, k)}
                         : Interval{-floorDivide(*high, -k), floorDivide(-*low, -k)};
          atom = inner.terms[0].atom;
        }
      }
    } else if (atom.kind() == Kind::Mod && atom.operands()[1].isConstant() && range.low != INT64_MIN) {
      // s + k == value (mod n): every n-th
      int64_t n = atom.operands()[1].value();
      Linear inner = simplifier.linear(atom.operands()[0]);
      const Expr *sole = inner.terms.size() == 1 && inner.terms[0].coefficient == 1 ? &inner.terms[0].atom : nullptr;
      if (sole && *sole == Expr::symbol(symbol) && n > 0) {
        if (value < 0 || value >= n)
          return {};
        __int128 residue = static_cast<__int128>(value) - inner.constant - range.low;
        int64_t forward = static_cast<int64_t>(((residue % n) + n) % n);
        if (auto first = checkedAdd(range.low, forward)) {
          range.low = *first;
          step = n;
        }
      }
    }
    if (atom == Expr::symbol(symbol))
      range = range.intersect(wanted);
  } else if (l.isConstant() && l.constant != target) {
    return {};
  }
  if (range.empty() || !range.bounded())
    return {};
  Program program({symbol});
  size_t value = program.add(e);
  std::optional<size_t> holds;
  if (condition)
    holds = program.add(*condition);
  std::vector<int64_t> positions, at{range.low};
  for (; at[0] <= range.high; at[0] += step) {
    program.run(at);
    if (program.value(value) == target && (!holds || program.value(*holds).value_or(0) != 0))
      positions.push_back(at[0]);
    if (range.high - at[0] < step)
      break;
  }
  return positions;
}

} // namespace skewer::subscript
