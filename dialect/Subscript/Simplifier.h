// What is known about a box of positions, and the rewriting of expressions under it. Internal to this library.
#pragma once
#include "dialect/Subscript/Linear.h"
#include <unordered_map>

namespace skewer::subscript {

/// One domain, one set of assumed predicates. Results are memoised, so one object should serve many expressions of one
/// domain; it is not shared between threads.
class Simplifier {
public:
  Simplifier(const Domain &domain, const std::optional<Expr> &guard);

  Expr simplify(const Expr &e) { return toExpr(linear(e)); }
  /// The canonical affine form over atoms that are canonical themselves.
  Linear linear(const Expr &);

  /// Assumes a predicate from now on.
  void assume(const Expr &predicate);
  /// The assumptions exclude each other: no point is left.
  bool contradictory() const { return contradiction; }

  /// From now on quotients and remainders say nothing of what does not matter to them: where x is below 48,
  /// (48*y + x) floordiv 192 is y floordiv 4, so that symbols stand apart. What is composed further keeps the number
  /// whole: a later step may know what puts its parts together again.
  void separate() { separating = true; }

  /// The affine assumptions, each <= 0.
  const std::vector<Linear> &affineFacts() const { return facts; }

  /// What an atom, or a form, can be at most; sound, not always tight.
  Interval rangeOf(const Expr &atom);
  Interval boundsOf(const Linear &);
  /// As `boundsOf`, by enumeration where atoms share symbols and the box is small.
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
  /// A copy with one more assumption; nothing where such copies nest too deeply to pay.
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
  std::vector<Expr> truths, falsities; // of them, those that are no affine facts
  std::unordered_map<Expr, Interval, Hash> refined, ranges;
  std::unordered_map<Expr, Linear, Hash> results;
  /// What may still be spent on enumeration and on nested contexts, all copies together: a simplification is asked for
  /// often, and selects within selects would otherwise double the work at each level.
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
