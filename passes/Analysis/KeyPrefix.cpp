// Masks that show every query the first keys in addition to an interval: memory tokens, attention sinks.
#include "passes/Analysis/AttentionShape.h"

using namespace skewer;
using namespace skewer::subscript;

/// Returns the number of keys for which the predicate holds, if these are the first keys; else nothing.
static std::optional<int64_t> firstKeys(const Expr &predicate, const std::string &key, int64_t keys) {
  int64_t count = 0;
  for (int64_t j = 0; j < keys; ++j) {
    auto holds = evaluate(predicate, {{key, j}});
    if (!holds || (*holds && count != j))
      return std::nullopt;
    count += *holds != 0;
  }
  return count;
}

bool skewer::takePrefix(const MaskPart &part, AttentionShape &shape) {
  const attn::ScoreSpace &space = shape.space;
  if (space.query.size() != 1 || space.key.size() != 1 || shape.prefix || !shape.valueTerms.empty() ||
      !shape.visibleShift.isConstant(0) || (shape.visible && shape.visible->low != INT64_MIN))
    return false;
  std::optional<Expr> ofKeys, ofOffsets;
  for (const Expr &disjunct : disjunctsOf(part.predicate)) {
    bool keyAlone = symbolsOf(disjunct) == std::set<std::string>{space.key[0]};
    std::optional<Expr> &side = keyAlone ? ofKeys : ofOffsets;
    side = side ? logicalOr(*side, disjunct) : disjunct;
  }
  if (!ofKeys || !ofOffsets)
    return false;
  auto prefix = firstKeys(*ofKeys, space.key[0], shape.keys);
  auto interval = asOffsetInterval(*ofOffsets, space.query[0], space.key[0], domainOf(space.sizes));
  // The prefix must not pass the end of the interval for the first query; then it does not for later queries either.
  if (!prefix || *prefix == 0 || !interval || interval->low > interval->high || interval->low == INT64_MIN ||
      *prefix - 1 > interval->high)
    return false;
  int64_t high = shape.visible ? std::min(shape.visible->high, interval->high) : interval->high;
  shape.visible = Range{interval->low, high};
  shape.prefix = *prefix;
  shape.prefixMask = part;
  return true;
}

void skewer::leavePrefix(AttentionShape &shape) {
  if (!shape.prefix)
    return;
  shape.masks.push_back(*shape.prefixMask);
  shape.prefix = 0;
  shape.prefixMask.reset();
  shape.visible->low = INT64_MIN;
  if (shape.visible->high == INT64_MAX)
    shape.visible.reset();
}
