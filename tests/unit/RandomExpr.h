// Makes seeded random index expressions and boxes, for property tests and fuzzers.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include <functional>
#include <random>

namespace skewer::subscript::testing {

class RandomExpr {
public:
  explicit RandomExpr(unsigned seed) : engine(seed) {}

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine); }
  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }

  /// Returns a box of i, j and k, each with 1 to 9 values, some of which begin below zero.
  Domain domain() {
    Domain d;
    for (const char *name : {"i", "j", "k"}) {
      int64_t low = below(3) ? 0 : between(-5, 5);
      d[name] = {low, low + below(9)};
    }
    return d;
  }
  Expr symbol() {
    static const char *names[] = {"i", "j", "k"};
    return Expr::symbol(names[below(3)]);
  }
  /// Returns sums, small factors and divisions, as compositions of reshapes contain them.
  Expr index(int depth) {
    if (depth == 0 || below(8) == 0)
      return below(4) ? symbol() : Expr(between(-20, 20));
    switch (below(13)) {
    case 0:
    case 1:
    case 2:
      return index(depth - 1) + index(depth - 1);
    case 3:
      return index(depth - 1) - index(depth - 1);
    case 4:
      return Expr(between(-15, 15)) * index(depth - 1);
    case 5:
      return floorDiv(index(depth - 1), Expr(between(1, 15)));
    case 6:
      if (below(4) == 0) { // divide by a symbol that is known only at run time
        Expr divisor = abs(index(depth - 1)) + Expr(1);
        return below(2) ? mod(index(depth - 1), divisor) : floorDiv(index(depth - 1) * divisor + symbol(), divisor);
      }
      return mod(index(depth - 1), Expr(between(1, 15)));
    case 7:
      return below(2) ? min(index(depth - 1), index(depth - 1)) : max(index(depth - 1), index(depth - 1));
    case 8:
      return abs(index(depth - 1));
    case 9: {
      // Split a flat index again.
      int64_t n = between(1, 12);
      Expr flat = Expr(n + between(-1, 1)) * index(depth - 1) + index(depth - 1);
      return below(2) ? floorDiv(flat, Expr(n)) : mod(flat, Expr(n));
    }
    case 10:
      return select(predicate(depth - 1), index(depth - 1), index(depth - 1));
    case 11: {
      // Make a constant table of runs and read it inside its bounds: where the original expression has no value, a
      // simplified one may have any.
      auto values = std::make_shared<std::vector<int64_t>>();
      while (values->empty() || below(4)) {
        int64_t first = between(-9, 9), step = between(-1, 1), count = 1 + below(6);
        for (int64_t k = 0; k < count; ++k)
          values->push_back(first + k * step);
      }
      int64_t last = static_cast<int64_t>(values->size()) - 1;
      return Expr::table(std::move(values), clamp(index(depth - 1), Expr(0), Expr(last)));
    }
    default: {
      int64_t low = between(-9, 9);
      return clamp(index(depth - 1), Expr(low), Expr(low + below(9)));
    }
    }
  }
  Expr predicate(int depth) {
    if (depth > 0 && below(3) == 0) {
      switch (below(3)) {
      case 0:
        return logicalAnd(predicate(depth - 1), predicate(depth - 1));
      case 1:
        return logicalOr(predicate(depth - 1), predicate(depth - 1));
      default:
        return logicalNot(predicate(depth - 1));
      }
    }
    Expr a = index(depth / 2), b = index(depth / 2);
    switch (below(4)) {
    case 0:
      return less(a, b);
    case 1:
      return below(2) ? equal(a, b) : notEqual(a, b);
    default:
      return lessEqual(a, b);
    }
  }
  /// Returns a predicate like a mask, or any predicate.
  Expr guard() {
    Expr i = Expr::symbol("i"), j = Expr::symbol("j");
    switch (below(4)) {
    case 0:
      return lessEqual(j, i + Expr(between(-2, 3)));
    case 1:
      return lessEqual(abs(i - j), Expr(below(5)));
    case 2:
      return logicalAnd(lessEqual(j, i), lessEqual(i - j, Expr(below(6))));
    default:
      return predicate(2);
    }
  }

private:
  std::mt19937 engine;
};

inline void forEachPoint(const Domain &domain, const std::function<void(const Assignment &)> &visit) {
  Assignment at;
  std::vector<std::pair<std::string, Range>> box(domain.begin(), domain.end());
  std::function<void(size_t)> recurse = [&](size_t k) {
    if (k == box.size())
      return visit(at);
    for (int64_t v = box[k].second.low; v <= box[k].second.high; ++v) {
      at[box[k].first] = v;
      recurse(k + 1);
    }
  };
  recurse(0);
}

inline std::string describe(const Expr &e, const Domain &domain, const std::optional<Expr> &guard = std::nullopt) {
  std::string text = print(e);
  for (const auto &[name, range] : domain)
    text += "; " + name + " in [" + std::to_string(range.low) + ", " + std::to_string(range.high) + "]";
  return guard ? text + "; where " + print(*guard) : text;
}

} // namespace skewer::subscript::testing
