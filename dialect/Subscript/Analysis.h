// What can be proven about index expressions over boxes of positions: simplification, bounds, affine forms.
#pragma once
#include "dialect/Subscript/Expr.h"

namespace skewer::subscript {

/// Inclusive; empty where high < low.
struct Range {
  int64_t low = 0, high = -1;
  bool operator==(const Range &o) const { return low == o.low && high == o.high; }
};
/// The range of each symbol, and under `elementsOf(operand)` that of every element of a run-time operand. What has no
/// entry is unbounded.
using Domain = std::map<std::string, Range>;

/// The key of a domain that holds the range of a run-time operand's elements: what `Expr::read(operand, …)` may be.
std::string elementsOf(const std::string &operand);
/// The run-time operands that the expression reads.
std::set<std::string> readsOf(const Expr &);
/// Its Read nodes, outer ones before those in their subscripts.
std::vector<Expr> readNodes(const Expr &);
/// The symbols on which the expression depends otherwise than by where it reads run-time operands.
std::set<std::string> symbolsOutsideReads(const Expr &);

/// An equal expression in canonical form: affine parts are sums `c1*s1 + c2*s2 + … + c` with symbols and other atoms in
/// a fixed order; floordiv and mod are eliminated where the domain (and `guard`, if given: a predicate that may be
/// assumed) proves them away, using `(a*n + b) floordiv n = a`, `mod n = b` if 0 <= b < n, shifting a*n + b to (a-1)*n
/// + (b+n) and (a+1)*n + (b-n) as needed; min, max, abs, clamp, comparisons and selects that the domain decides are
/// decided. Equal expressions of one origin (a composed skew, a hand-written index) come out structurally equal.
Expr simplify(const Expr &, const Domain & = {}, const std::optional<Expr> &guard = std::nullopt);

struct Bounds {
  Range range;
  bool exact = false; // both ends are attained (under the guard)
};
/// Bounds of the expression over the domain's points at which `guard` is not 0. Elements of run-time operands count as
/// symbols, each of any value in the range that the domain gives them. Intervals first; where they are not
/// exact, or a guard is given, and the box of the symbols involved has at most `enumerationLimit` points, by
/// enumeration. Nothing where a symbol is unbounded and matters, or no point satisfies the guard (then `emptyDomain` is
/// set).
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

/// c1*s1 + … + constant over plain symbols; nothing if the expression (after simplify) is not of that form.
struct Affine {
  std::map<std::string, int64_t> coefficients; // no zero entries
  int64_t constant = 0;
};
std::optional<Affine> asAffine(const Expr &, const Domain & = {});

/// The predicate as an interval of the difference `key - query` of two symbols: `j <= i` is (-inf, 0],
/// `abs(i - j) <= 4` is [-4, 4]. Exact or nothing. Open ends are INT64_MIN and INT64_MAX.
std::optional<Range> asOffsetInterval(const Expr &predicate, const std::string &query, const std::string &key,
                                      const Domain & = {});
/// The same of `key - query + shift`, where the predicate depends on that difference alone; `shift` is a sum of uniform
/// reads, 0 where there are none.
struct ShiftedInterval {
  Range range;
  Expr shift;
};
std::optional<ShiftedInterval> asShiftedInterval(const Expr &predicate, const std::string &query,
                                                 const std::string &key, const Domain & = {});

/// The parts of a conjunction, of conjunctions within it too; the predicate itself where it is none.
std::vector<Expr> conjunctsOf(const Expr &predicate);
/// The parts of a disjunction likewise.
std::vector<Expr> disjunctsOf(const Expr &predicate);

/// How an expression depends on two groups of symbols.
struct Dependence {
  bool query = false, key = false;
};
Dependence dependence(const Expr &, const std::set<std::string> &queryAxes, const std::set<std::string> &keyAxes);

/// Whether the node is an element of a run-time operand that is the same at all positions: read at constants.
bool isUniformRead(const Expr &);
/// The expression with 0 in the place of such elements.
Expr withoutUniformReads(const Expr &);

/// `expression == sign*(key - query) + constant + shift` for one axis of each group: an offset.
struct Offset {
  std::string query, key; // the two axes
  int64_t sign = 1;       // +1: key - query; -1: query - key
  int64_t constant = 0;
  Expr shift; // a sum of uniform reads: where a part begins
};
std::optional<Offset> asOffset(const Expr &, const std::set<std::string> &queryAxes,
                               const std::set<std::string> &keyAxes, const Domain & = {});

} // namespace skewer::subscript
