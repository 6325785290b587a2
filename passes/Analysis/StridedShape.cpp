// One content and one offset of the same queries, and scores that are not large.
#include "passes/Analysis/StridedShape.h"
#include "passes/Analysis/Summation.h"
#include <cmath>

using namespace skewer;

bool skewer::mayAddStrided(const AttentionShape &shape) {
  if (shape.content.size() != 1 || shape.offsets.size() != 1 || !shape.rows.empty() || !shape.others.empty() ||
      !shape.valueTerms.empty() || !shape.masks.empty() || !shape.bounds.parts.empty() || shape.sums != 1)
    return false;
  const ContentTerm &content = shape.content.front();
  const OffsetTerm &term = shape.offsets.front();
  const Walk &a = content.query, &q = term.query;
  double factor = term.scale / content.scale;
  return !content.key.picked && (term.shift.isConstant(0) || shape.hasLength()) &&
         term.queryAxis.isWhole(shape.queries) && term.keyAxis.isWhole(shape.keys) && a.argument == q.argument &&
         a.base == q.base && a.query == q.query && a.depth == q.depth && content.depth == term.depth &&
         std::isfinite(factor) && std::abs(factor) < kLargeFactor &&
         std::abs(content.scale) * std::sqrt(double(content.depth)) <= kLargeScores;
}
