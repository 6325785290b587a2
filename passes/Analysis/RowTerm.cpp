// Finds how the row of a table depends on positions: by algebra first, and by evaluation if the row is a function of
// the offset.
#include "passes/Analysis/RowTerm.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/BiasKind.h"
#include "passes/Analysis/LaneFit.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// The most rows of a table whose logits are computed once for each query, as a multiple of the number of keys, and, on
// the key side, once for each key. Vectors of rows are multiplied at once, but a dot product of each pair takes one row
// at a time; with more rows than this, the logits cost more than the dot products.
static constexpr int64_t kRowsPerKey = 8, kMostKeyRows = 4096;

int64_t OffsetRows::at(int64_t offset) const {
  return rows[std::clamp<int64_t>(offset - low, 0, static_cast<int64_t>(rows.size()) - 1)];
}

bool OffsetRows::hasNone() const { return llvm::is_contained(rows, -1); }

bool OffsetRows::isMonotone() const {
  bool up = true, down = true;
  int64_t before = -1;
  for (int64_t row : rows) {
    if (row < 0)
      continue;
    up &= before < 0 || before <= row;
    down &= before < 0 || before >= row;
    before = row;
  }
  return up || down;
}

/// Returns the rows by offset if the row and the guard depend on nothing else; else nothing.
static std::optional<OffsetRows> rowsByOffset(const RowTerm &term, const ScoreSpace &space) {
  if (space.query.size() != 1 || space.key.size() != 1)
    return std::nullopt;
  std::vector<Expr> expressions = {term.row};
  if (term.guard)
    expressions.push_back(*term.guard);
  for (const Expr &expression : expressions) {
    if (!readsOf(expression).empty())
      return std::nullopt;
    for (const std::string &symbol : symbolsOf(expression))
      if (symbol != space.query[0] && symbol != space.key[0])
        return std::nullopt;
  }
  if (!isOfDifferences(expressions, space))
    return std::nullopt;
  OffsetRows result;
  result.low = 1 - space.queries();
  for (int64_t offset = result.low; offset < space.keys(); ++offset) {
    int64_t key = std::max<int64_t>(offset, 0);
    Assignment at = {{space.query[0], key - offset}, {space.key[0], key}};
    bool counts = !term.guard || evaluate(*term.guard, at).value_or(0) != 0;
    int64_t row = counts ? evaluate(term.row, at).value_or(-1) : -1;
    // A row is outside the table only if a mask hides the pair.
    result.rows.push_back(row >= 0 && row < term.rows ? row : -1);
  }
  // Equal rows at both ends are kept once.
  size_t first = 0, end = result.rows.size();
  while (first + 1 < end && result.rows[first + 1] == result.rows[first])
    ++first;
  while (end > first + 1 && result.rows[end - 2] == result.rows[end - 1])
    --end;
  result.low += static_cast<int64_t>(first);
  result.rows = std::vector<int64_t>(result.rows.begin() + first, result.rows.begin() + end);
  return result;
}

static bool rowFitsLanes(const RowTerm &term, const Domain &domain) {
  return fitsLanes(term.row, domain) && (!term.guard || fitsLanes(*term.guard, domain));
}

static bool hasFewRows(const RowTerm &term, const ScoreSpace &space) {
  int64_t rows = term.endRow - term.firstRow;
  return rows <= (term.keySide ? kMostKeyRows : kRowsPerKey * space.keys());
}

bool skewer::findRowKind(RowTerm &term, const ScoreSpace &space) {
  term.firstRow = 0;
  term.endRow = term.rows;
  if (auto offsets = rowsByOffset(term, space)) {
    term.kind = RowKind::Offset;
    term.offsets = std::move(*offsets);
    int64_t low = term.rows, high = -1;
    for (int64_t row : term.offsets.rows) {
      low = row < 0 ? low : std::min(low, row);
      high = std::max(high, row);
    }
    term.firstRow = std::min(low, high + 1);
    term.endRow = high + 1;
    return true;
  }
  Domain domain = attn::domainOf(space);
  if (!rowFitsLanes(term, domain))
    return false;
  if (auto bounds = bound(term.row, domain, term.guard)) {
    term.firstRow = std::clamp<int64_t>(bounds->range.low, 0, term.rows - 1);
    term.endRow = std::clamp<int64_t>(bounds->range.high + 1, term.firstRow + 1, term.rows);
  }
  const std::vector<std::string> &axes = term.keySide ? space.query : space.key;
  std::vector<std::string> used = axesIn({term.row, term.guard.value_or(1)}, axes);
  term.axis = used.empty() ? axes.size() - 1 : llvm::find(axes, used.back()) - axes.begin();
  term.kind = axes.size() > 1 && used.size() <= 1 ? RowKind::Axis : RowKind::Any;
  return hasFewRows(term, space);
}

bool skewer::mayPickAnyRow(const RowTerm &term, const ScoreSpace &space) {
  Domain domain = attn::domainOf(space);
  return rowFitsLanes(term, domain) && hasFewRows(term, space) && term.endRow > term.firstRow;
}
