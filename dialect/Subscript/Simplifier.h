// Facts about a box of positions, and the rewriting of expressions under them. Internal to this library, except for
// `isPredicate`, which the language's type checker calls.
#pragma once
#include "dialect/Subscript/Linear.h"
#include <unordered_map>

namespace skewer::subscript {

/// Rewrites expressions under one domain and one set of assumed predicates. Results are memoised, so one object should
/// serve many expressions of one domain. Threads do not share it.
class Simplifier {
public:
  Simplifier(const Domain &domain, const std::optional<Expr> &guard);

  Expr simplify(const Expr &e) { return toExpr(linear(e)); }
  /// Returns the canonical affine form over canonical atoms.
  Linear linear(const Expr &);

  /// Assumes a predicate from now on.
  void assume(const Expr &predicate);
  /// Returns whether the assumptions exclude each other, so that no point is left.
  bool contradictory() const { return contradiction; }

  /// From now on, drops from the numerators of quotients and remainders the parts that do not change the result: where
  /// x is below 48, (48*y + x) floordiv 192 becomes y floordiv 4, so that symbols are separated. By default the number
  /// stays whole, because a later step may know how to merge its parts again.
  void separate() { separating = true; }

  /// Returns the affine assumptions: each form is <= 0.
  const std::vector<Linear> &affineFacts() const { return facts; }

  /// Returns the range of an atom, or of a form; sound, not always tight.
  Interval rangeOf(const Expr &atom);
  Interval boundsOf(const Linear &);
  /// As `boundsOf`, but enumerates if atoms share symbols and the box is small.
  Interval tightBoundsOf(const Linear &);

private:
  // Simplify.cpp: one function for each group of kinds.
  Linear compute(const Expr &);
  Linear product(const Expr &, const Linear &, const Linear &);
  Linear extremum(Kind, std::vector<Linear> operands);
  Linear absolute(const Linear &);
  Linear lookUp(const Expr &);
  Linear leave(const Expr &, std::vector<Expr> operands);
  // Predicates.cpp
  Linear comparison(Kind, const Linear &, const Linear &);
  Linear connective(const Expr &);
  bool isImplied(const std::vector<Expr> &parts, size_t k, bool conjunction);
  bool hasValueEverywhere(const Expr &);
  Linear negation(const Linear &);
  Linear choice(const Expr &);
  Linear truth(const Linear &);
  Linear known(Expr predicate);
  /// Returns a copy with one more assumption; nothing if such copies are nested too deeply.
  std::optional<Simplifier> assuming(const Expr &) const;
  // Division.cpp
  struct Split {
    Linear quotient, remainder;
  };
  Linear divide(const Expr &, const Linear &numerator, const Linear &divisor);
  std::optional<Split> resolve(const Linear &, int64_t n);
  std::optional<Split> splitBySymbol(const Linear &, const Expr &divisor);
  struct Coarse {
    int64_t unit = 1;
    Linear coarse, fine;
  };
  std::optional<Coarse> coarsen(const Linear &, int64_t n);
  Linear quotient(const Linear &, int64_t n);
  Linear remainder(const Linear &, int64_t n);
  Linear recombine(Linear);
  std::optional<Linear> recombineModulo(const Linear &, int64_t n);
  // Facts.cpp
  int64_t upper(const Linear &, int depth);
  int64_t upperByParts(const Linear &, int depth);
  Interval computeRange(const Expr &);
  void addFact(const Linear &atMostZero, int depth = 0);
  void addQuotients(const Linear &afterLast, const Expr &product, int depth);
  void propagate();
  std::optional<Interval> enumerate(const Linear &);

  struct Hash {
    size_t operator()(const Expr &e) const { return e.hash(); }
  };
  Domain domain;
  std::vector<Linear> facts;           // each is <= 0
  std::vector<Expr> assumptions;       // simplified conjuncts of the guard
  std::vector<Expr> truths, falsities; // assumptions that are no affine facts
  std::unordered_map<Expr, Interval, Hash> refined, ranges;
  std::unordered_map<Expr, Linear, Hash> results;
  /// The remaining budget for enumeration and nested contexts, shared by all copies. Simplification is called often,
  /// and without a limit selects within selects would double the work at each level.
  struct Budget {
    int64_t points = 1 << 15;
    int contexts = 64;
    int parts = 1 << 16;
  };
  std::shared_ptr<Budget> budget = std::make_shared<Budget>();
  int nesting = 0, partsNesting = 0;
  bool separating = false;
  bool contradiction = false;
};

bool isPredicate(const Expr &); // its value is 0 or 1

} // namespace skewer::subscript
