// Masks that bound the keys of a head for all queries: lengths of texts, filled caches, padding.
#include "passes/Analysis/AttentionShape.h"

using namespace skewer;
using namespace skewer::subscript;

namespace {
/// A limit that holds for all keys that a conjunct makes visible: key < limit (`isHigh`), or key >= limit.
struct Limit {
  Expr limit;
  bool isHigh;
};
} // namespace

/// Solves the conjunct `a < b` or `a <= b` for the key's position.
static std::optional<Limit> solveForKey(const Expr &conjunct, const std::vector<std::string> &key, const Expr &position,
                                        const Domain &domain) {
  if (conjunct.kind() != Kind::Less && conjunct.kind() != Kind::LessEqual)
    return std::nullopt;
  // The conjunct says that the difference is more than 0, or at least 0.
  Expr difference = conjunct.operands()[1] - conjunct.operands()[0];
  Substitution first;
  for (const std::string &axis : key)
    first[axis] = Expr(0);
  Expr rest = simplify(substitute(difference, first), domain);
  Expr slack = conjunct.kind() == Kind::Less ? Expr(0) : Expr(1);
  if (simplify(difference - (rest - position), domain).isConstant(0))
    return Limit{rest + slack, true}; // key < rest, key <= rest
  if (simplify(difference - (rest + position), domain).isConstant(0))
    return Limit{Expr(1) - slack - rest, false}; // key > -rest, key >= -rest
  return std::nullopt;
}

/// Returns the limit that holds for all queries: the weakest limit that a query position gives.
static std::optional<Expr> overQueries(const Limit &limit, const std::vector<std::string> &query,
                                       const Domain &domain) {
  Substitution first;
  for (const std::string &axis : query)
    first[axis] = Expr(0);
  Expr least = simplify(substitute(limit.limit, first), domain);
  Expr added = simplify(limit.limit - least, domain);
  if (added.isConstant(0))
    return least;
  if (!readNodes(added).empty())
    return std::nullopt;
  auto range = bound(added, domain);
  if (!range)
    return std::nullopt;
  return simplify(least + Expr(limit.isHigh ? range->range.high : range->range.low), domain);
}

bool skewer::takeBounds(const MaskPart &part, AttentionShape &shape) {
  const attn::ScoreSpace &space = shape.space;
  Domain domain = attn::domainOf(space);
  auto limit = solveForKey(part.predicate, space.key, flatIndex({space.key, {}}, space.sizes), domain);
  if (!limit)
    return false;
  auto ofAll = overQueries(*limit, space.query, domain);
  if (!ofAll)
    return false;
  std::optional<Expr> &known = limit->isHigh ? shape.bounds.high : shape.bounds.low;
  if (!known)
    known = *ofAll;
  else
    known = limit->isHigh ? min(*known, *ofAll) : max(*known, *ofAll);
  if (*ofAll != simplify(limit->limit, domain))
    return false;
  shape.bounds.parts.push_back(part);
  return true;
}

void skewer::leaveBounds(AttentionShape &shape) {
  shape.masks.insert(shape.masks.end(), shape.bounds.parts.begin(), shape.bounds.parts.end());
  shape.bounds.low = shape.bounds.high = std::nullopt;
  shape.bounds.parts.clear();
}
