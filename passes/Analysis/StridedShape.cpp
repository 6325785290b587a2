// Checks for one content term and one offset term of the same queries whose scores are not large.
#include "passes/Analysis/StridedShape.h"
#include "passes/Analysis/Summation.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace skewer;

// The most bytes of packed keys and values of the heads that share the table rows of a phase.
static constexpr int64_t kHeldBytes = int64_t(5) << 19;

int64_t skewer::headsOfPhase(const AttentionShape &shape, int64_t lanes) {
  const RowTerm &term = shape.rows.front();
  std::set<std::string> own = subscript::symbolsOf(term.linear.shift);
  own.insert(term.tableAxes.begin(), term.tableAxes.end());
  int64_t sharing = 1;
  for (const std::string &axis : llvm::reverse(shape.space.leading)) {
    int64_t size = shape.space.sizes.at(axis);
    if (size == subscript::kRuntime || own.count(axis))
      break;
    sharing *= size;
  }
  auto bytes = static_cast<int64_t>(sizeof(float)) * llvm::alignTo(shape.keys, lanes) * (term.depth + shape.width);
  int64_t heads = std::clamp<int64_t>(kHeldBytes / bytes, 1, sharing);
  while (sharing % heads)
    --heads;
  return heads;
}

bool skewer::mayAddStrided(const AttentionShape &shape) {
  if (shape.content.size() != 1 || shape.rows.size() != 1 || shape.rows.front().kind != RowKind::Linear ||
      !shape.others.empty() || !shape.valueTerms.empty() || !shape.masks.empty() || !shape.bounds.parts.empty() ||
      shape.sums != 1)
    return false;
  const ContentTerm &content = shape.content.front();
  const RowTerm &term = shape.rows.front();
  const Walk &a = content.query, &q = term.vector;
  double factor = term.scale / content.scale, scale = shape.scoreFactor * content.scale;
  return !content.key.picked && (term.linear.shift.isConstant(0) || shape.hasLength()) &&
         term.linear.isWhole(shape.queries, shape.keys) && a.argument == q.argument && a.base == q.base &&
         a.query == q.query && a.depth == q.depth && content.depth == term.depth && std::isfinite(factor) &&
         std::abs(factor) < kLargeFactor && std::abs(scale) * std::sqrt(double(content.depth)) <= kLargeScores;
}
