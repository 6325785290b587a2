// Divides the positions of an attention into classes.
#include "passes/Fusion/SplitAttention.h"
#include "passes/Fusion/Reindex.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

Expr Split::queryAt(const Expr &whichClass, const Expr &query) const {
  if (!rest)
    return whichClass;
  return isChunk ? Expr(step) * whichClass + query : Expr(step) * query + whichClass;
}

Expr Split::keyAt(const Expr &whichClass, const Expr &key) const {
  if (!window)
    return queryAt(whichClass, key);
  Expr first = Expr(step) * whichClass + Expr(window->first);
  return min(max(first, Expr(0)), Expr(window->last)) + key;
}

/// Returns a conjunct on positions as a conjunct within a class. An interval of differences becomes one of steps.
static Expr withinClass(const Expr &conjunct, const Split &split, const Substitution &moved, const Domain &domain) {
  auto interval = split.isChunk ? std::nullopt : asOffsetInterval(conjunct, split.query, split.key, domain);
  if (!interval)
    return substitute(conjunct, moved);
  Expr steps = Expr::symbol(split.key) - Expr::symbol(split.query), inside = 1;
  if (interval->low != INT64_MIN)
    inside = lessEqual(Expr(llvm::divideCeilSigned(interval->low, split.step)), steps);
  if (interval->high != INT64_MAX)
    inside = logicalAnd(inside, lessEqual(steps, Expr(llvm::divideFloorSigned(interval->high, split.step))));
  return inside;
}

bool skewer::splitAttention(AttentionOp attention, const Split &split) {
  auto view = viewOf(attention);
  Reindexing change{view->space};
  std::string own = change.addLeading(*view, split.classes);
  change.moved[split.query] = split.queryAt(Expr::symbol(own), Expr::symbol(split.query));
  change.moved[split.key] = split.keyAt(Expr::symbol(own), Expr::symbol(split.key));
  std::vector<std::string> &names = change.names[split.query] = {own};
  if (split.rest) {
    names.insert(names.begin() + split.isChunk, split.query);
    change.space.sizes[split.query] = split.rest;
    change.space.sizes[split.key] = split.window ? split.window->keys : split.rest;
  } else {
    llvm::erase(change.space.query, split.query);
    llvm::erase(change.space.key, split.key);
    change.space.sizes.erase(split.query);
    change.space.sizes.erase(split.key);
  }
  for (const Expr &conjunct : conjunctsOf(simplify(view->mask.value_or(1), view->domain)))
    change.mask = logicalAnd(change.mask, withinClass(conjunct, split, change.moved, view->domain));
  change.mask = simplify(change.mask, domainOf(change.space));
  return reindex(attention, change);
}
