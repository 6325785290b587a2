// Visits the points of a box at which a guard holds. Internal to this library.
#pragma once
#include "dialect/Subscript/Simplifier.h"

namespace skewer::subscript {

/// The values of an expression at the visited points.
struct Survey {
  bool any = false;       // at some visited point the guard holds and the expression has a value
  bool uncertain = false; // at some point the guard or the expression could not be evaluated (index operands)
  bool complete = false;  // every point was visited
  /// Some conditions of the guard on unbounded numbers were left out. The range is still a bound, but its ends may not
  /// be attained, and there may be no point at all.
  bool relaxed = false;
  Interval range{INT64_MAX, INT64_MIN};
  Assignment lowest, highest; // points that attain the range's ends; all symbols of expression and guard
};

class Surveyor {
public:
  /// `simplifier` has assumed `guard`; its ranges of the symbols are the box.
  Surveyor(Simplifier &simplifier, const Expr &expression, const Domain &, const std::optional<Expr> &guard);

  /// Visits the corners of the box, and points where an affine assumption holds with equality.
  Survey candidates();
  /// Visits every point if there are at most `limit` points. If only the difference of two symbols matters, visits
  /// every difference. Symbols on which neither the expression nor, through the guard, its symbols depend do not
  /// multiply the number.
  Survey all(int64_t limit);

private:
  struct Part { // symbols that conjuncts of the guard connect
    std::vector<std::string> symbols;
    std::vector<Expr> conjuncts;
    std::vector<Interval> box;
    bool bounded = true;
    int64_t points = 1; // saturates
  };
  bool visit(Survey &, const Part &, class Program &, size_t value, const std::vector<size_t> &conditions,
             const std::vector<int64_t> &at);
  void finish(Survey &);
  /// Visits each difference of two symbols if the expression and the guard depend on that difference alone.
  std::optional<Survey> byDifference(int64_t limit);
  /// Finds a point at which the conjuncts of a part hold; the part does not contain the expression's symbols.
  void settle(Survey &, const Part &, int64_t limit);

  Simplifier &simplifier;
  Expr expression;
  Part main;
  bool relaxed = false; // `main` does not contain all of its conjuncts
  std::vector<Part> others;
  Assignment defaults; // values of the symbols that are in no part
};

} // namespace skewer::subscript
