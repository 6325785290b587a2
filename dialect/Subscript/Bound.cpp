// Bounds of expressions and proofs that they stay in a range.
#include "dialect/Subscript/Elements.h"
#include "dialect/Subscript/Memo.h"
#include "dialect/Subscript/Project.h"
#include "dialect/Subscript/Survey.h"

namespace skewer::subscript {

std::optional<Bounds> bound(const Expr &given, const Domain &positions, const std::optional<Expr> &condition,
                            int64_t enumerationLimit, bool *emptyDomain) {
  Elements elements(positions);
  Expr e = elements.replace(given);
  std::optional<Expr> guard = elements.replace(condition);
  const Domain &domain = elements.domain();
  if (emptyDomain)
    *emptyDomain = false;
  auto empty = [&]() -> std::optional<Bounds> {
    if (emptyDomain)
      *emptyDomain = true;
    return std::nullopt;
  };
  Simplifier simplifier(domain, guard);
  if (simplifier.contradictory())
    return empty();
  Interval range = simplifier.boundsOf(simplifier.linear(e));
  Surveyor surveyor(simplifier, e, domain, guard);
  // Bounds that a few points attain are exact, whatever the size of the box.
  Survey survey = surveyor.candidates();
  if (survey.complete && !survey.any && !survey.uncertain)
    return empty();
  if (survey.any && survey.range.low == range.low && survey.range.high == range.high && !survey.uncertain &&
      !survey.relaxed)
    return Bounds{{range.low, range.high}, true};
  survey = surveyor.all(enumerationLimit);
  if (survey.complete) {
    if (!survey.any && !survey.uncertain)
      return empty();
    if (!survey.uncertain)
      return Bounds{{survey.range.low, survey.range.high}, !survey.relaxed};
  }
  if (!range.bounded())
    return std::nullopt;
  return Bounds{{range.low, range.high}, false};
}

static Proof prove(const Expr &given, Range wanted, const Domain &positions, const std::optional<Expr> &condition) {
  Elements elements(positions);
  Expr e = elements.replace(given);
  std::optional<Expr> guard = elements.replace(condition);
  const Domain &domain = elements.domain();
  Proof proof;
  Simplifier simplifier(domain, guard);
  if (simplifier.contradictory()) {
    proof.outcome = Proof::Proven; // no point satisfies the guard
    return proof;
  }
  Interval range = simplifier.boundsOf(simplifier.linear(e));
  if (range.bounded())
    proof.range = Range{range.low, range.high};
  if (range.within(wanted.low, wanted.high)) {
    proof.outcome = Proof::Proven;
    return proof;
  }
  // The point that is furthest outside is the best counterexample.
  auto refute = [&](const Survey &survey) {
    if (!survey.any)
      return false;
    __int128 above = static_cast<__int128>(survey.range.high) - wanted.high;
    __int128 below = static_cast<__int128>(wanted.low) - survey.range.low;
    if (above <= 0 && below <= 0)
      return false;
    const Assignment &point = above >= below ? survey.highest : survey.lowest;
    auto value = evaluate(e, point);
    if (!value || (*value >= wanted.low && *value <= wanted.high) ||
        (guard && evaluate(*guard, point).value_or(0) == 0) || elements.contradicts(point))
      return false;
    proof.outcome = Proof::Refuted;
    proof.counterexample = point;
    proof.value = *value;
    return true;
  };
  Surveyor surveyor(simplifier, e, domain, guard);
  Survey survey = surveyor.candidates();
  bool refuted = !survey.uncertain && refute(survey);
  if (refuted && survey.range.low == range.low && survey.range.high == range.high)
    return proof;
  constexpr int64_t kLimit = 1 << 22;
  // After a refutation, only a small search is made: for the range that the message names.
  Survey every = surveyor.all(refuted ? 1 << 16 : kLimit);
  if (!every.complete) {
    // Too many points. The guard's conditions on the expression's own symbols may suffice, and have fewer points.
    if (refuted || !guard)
      return proof;
    std::set<std::string> beside = symbolsOf(*guard), own = symbolsOf(e);
    for (const std::string &name : own)
      beside.erase(name);
    if (Expr weaker = projectOut(*guard, beside, domain); !beside.empty() && !weaker.isConstant())
      if (Proof other = proveWithin(e, wanted, domain, weaker); other.outcome == Proof::Proven)
        return other;
    return proof;
  }
  if (every.range.empty() && !every.uncertain) {
    proof.outcome = Proof::Proven; // no point satisfies the guard
    proof.range.reset();
    return proof;
  }
  if (every.uncertain) {
    refute(every);
    return proof;
  }
  if (every.relaxed && !every.range.within(wanted.low, wanted.high)) {
    refute(every); // only if the point satisfies the whole guard
    return proof;
  }
  proof.range = Range{every.range.low, every.range.high};
  if (every.range.within(wanted.low, wanted.high))
    proof.outcome = Proof::Proven;
  else
    refute(every);
  return proof;
}

Proof proveWithin(const Expr &e, Range wanted, const Domain &domain, const std::optional<Expr> &guard) {
  static thread_local Memo<Proof> known;
  return known.answer({e, guard, domain, wanted}, [&] { return prove(e, wanted, domain, guard); });
}

} // namespace skewer::subscript
