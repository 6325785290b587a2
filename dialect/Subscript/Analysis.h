// Proofs about index expressions over boxes of positions: simplification, bounds, affine forms.
#pragma once
#include "dialect/Subscript/Expr.h"

namespace skewer::subscript {

/// Inclusive; empty where high < low.
struct Range {
  int64_t low = 0, high = -1;
  bool operator==(const Range &o) const { return low == o.low && high == o.high; }
};
/// The range of each symbol, and under `elementsOf(operand)` the range of every element of a run-time operand. A name
/// without an entry is unbounded.
using Domain = std::map<std::string, Range>;

/// Returns the domain's key for the elements of a run-time operand: the range of `Expr::read(operand, …)`.
std::string elementsOf(const std::string &operand);
/// Returns the run-time operands that the expression reads.
std::set<std::string> readsOf(const Expr &);
/// Returns the Read nodes of an expression, outer ones before those in their subscripts.
std::vector<Expr> readNodes(const Expr &);
/// Returns the symbols on which the expression depends, except those that only subscript run-time operands.
std::set<std::string> symbolsOutsideReads(const Expr &);

/// Returns an equal expression in canonical form. Affine parts are sums `c1*s1 + c2*s2 + … + c` with symbols and other
/// atoms in a fixed order. floordiv and mod are eliminated where the domain (and `guard`, if given: a predicate that
/// may be assumed) proves them away, using `(a*n + b) floordiv n = a`, `mod n = b` if 0 <= b < n; a*n + b is shifted to
/// (a-1)*n + (b+n) or (a+1)*n + (b-n) as needed. min, max, abs, clamp, comparisons and selects that the domain decides
/// are decided. Equal expressions of one origin (a composed skew, a hand-written index) become structurally equal.
Expr simplify(const Expr &, const Domain & = {}, const std::optional<Expr> &guard = std::nullopt);

struct Bounds {
  Range range;
  bool exact = false; // both ends are attained (under the guard)
};
/// Returns bounds of the expression over the domain's points at which `guard` is not 0. Elements of run-time operands
/// count as symbols; each may have any value in the range that the domain gives them. The function uses intervals
/// first. If they are not exact, or a guard is given, it enumerates the box of the symbols involved, provided that the
/// box has at most `enumerationLimit` points. Returns nothing if a symbol that matters is unbounded, or if no point
/// satisfies the guard (then sets `emptyDomain`).
std::optional<Bounds> bound(const Expr &, const Domain &, const std::optional<Expr> &guard = std::nullopt,
                            int64_t enumerationLimit = 1 << 22, bool *emptyDomain = nullptr);

/// Outcome of trying to prove that an expression stays in a range.
struct Proof {
  enum Outcome { Proven, Refuted, Unknown } outcome = Unknown;
  Assignment counterexample;  // Refuted: a point of the domain, guard true ("seg[b, i]" stands for an element), …
  int64_t value = 0;          // … and the value there
  std::optional<Range> range; // the range that the expression takes, where known
};
Proof proveWithin(const Expr &, Range, const Domain &, const std::optional<Expr> &guard = std::nullopt);

/// c1*s1 + … + constant over plain symbols.
struct Affine {
  std::map<std::string, int64_t> coefficients; // no zero entries
  int64_t constant = 0;
};
/// Returns the affine form of the expression (after simplify); nothing if it has none.
std::optional<Affine> asAffine(const Expr &, const Domain & = {});

/// Returns the predicate as an interval of the difference `key - query` of two symbols: `j <= i` is (-inf, 0],
/// `abs(i - j) <= 4` is [-4, 4]. The interval is exact; nothing if there is none. Open ends are INT64_MIN and
/// INT64_MAX.
std::optional<Range> asOffsetInterval(const Expr &predicate, const std::string &query, const std::string &key,
                                      const Domain & = {});
/// An interval of `key - query + shift`, for a predicate that depends on that difference alone. `shift` is a sum of
/// uniform reads, 0 if there are none.
struct ShiftedInterval {
  Range range;
  Expr shift;
};
std::optional<ShiftedInterval> asShiftedInterval(const Expr &predicate, const std::string &query,
                                                 const std::string &key, const Domain & = {});

/// Returns the parts of a conjunction and of the conjunctions within it; the predicate itself if it is no conjunction.
std::vector<Expr> conjunctsOf(const Expr &predicate);
/// Returns the parts of a disjunction in the same way.
std::vector<Expr> disjunctsOf(const Expr &predicate);

/// The groups of symbols, of two, on which an expression depends.
struct Dependence {
  bool query = false, key = false;
};
Dependence dependence(const Expr &, const std::set<std::string> &queryAxes, const std::set<std::string> &keyAxes);

/// Returns whether the node reads a run-time operand at constants, so that the element is the same at all positions.
bool isUniformRead(const Expr &);
/// Returns the expression with 0 in the place of uniform reads.
Expr withoutUniformReads(const Expr &);

/// An offset: `expression == sign*(key - query) + constant + shift` for one axis of each group.
struct Offset {
  std::string query, key; // the two axes
  int64_t sign = 1;       // +1: key - query; -1: query - key
  int64_t constant = 0;
  Expr shift; // a sum of uniform reads: the origin of a part
};
std::optional<Offset> asOffset(const Expr &, const std::set<std::string> &queryAxes,
                               const std::set<std::string> &keyAxes, const Domain & = {});

} // namespace skewer::subscript
