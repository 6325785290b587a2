// Visiting the points of a box at which a guard holds. Internal to this library.
#pragma once
#include "dialect/Subscript/Simplifier.h"

namespace skewer::subscript {

/// The values of an expression at the points visited.
struct Survey {
  bool any = false;       // a point at which the guard holds and the expression has a value
  bool uncertain = false; // somewhere the guard or the expression could not be evaluated (index operands)
  bool complete = false;  // every point was visited
  /// Conditions of the guard on numbers without bounds were left out: the range holds, but its ends, and that there is
  /// a point at all, are not certain.
  bool relaxed = false;
  Interval range{INT64_MAX, INT64_MIN};
  Assignment lowest, highest; // points that attain the range's ends, of all symbols of expression and guard
};

class Surveyor {
public:
  /// `simplifier` has assumed `guard`; its ranges of symbols are the box.
  Surveyor(Simplifier &simplifier, const Expr &expression, const Domain &, const std::optional<Expr> &guard);

  /// Corners of the box, and where an affine assumption holds with equality.
  Survey candidates();
  /// Every point (of two symbols that matter by their difference only: every difference), if there are at most `limit`;
  /// symbols that neither the expression nor, through the guard, its symbols depend on are not multiplied in.
  Survey all(int64_t limit);

private:
  struct Part { // symbols that conjuncts of the guard tie together
    std::vector<std::string> symbols;
    std::vector<Expr> conjuncts;
    std::vector<Interval> box;
    bool bounded = true;
    int64_t points = 1; // saturates
  };
  bool visit(Survey &, const Part &, class Program &, size_t value, const std::vector<size_t> &conditions,
             const std::vector<int64_t> &at);
  void finish(Survey &);
  /// Where expression and guard depend on the difference of two symbols alone: a visit to each difference.
  std::optional<Survey> byDifference(int64_t limit);
  /// A point of a part without the expression at which its conjuncts hold.
  void settle(Survey &, const Part &, int64_t limit);

  Simplifier &simplifier;
  Expr expression;
  Part main;
  bool relaxed = false; // main lacks conjuncts
  std::vector<Part> others;
  Assignment defaults; // what no part says
};

} // namespace skewer::subscript
