// Derives the kind of a summand or a mask part from the symbols of its simplified expressions.
#include "passes/Analysis/BiasKind.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/LaneFit.h"
#include "llvm/ADT/STLExtras.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// The most bytes of a score table that can be held although it grows with queries × keys (a 49×49 window bias): for one
// head, and for the tables of all heads together.
static constexpr int64_t kTableBytes = 64 << 10, kTablesBytes = 4 << 20;

/// Returns the expression with products of sums multiplied out, since the resulting summands can cancel.
static Expr expanded(const Expr &e) {
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(expanded(operand));
  if (e.kind() != Kind::Mul)
    return operands.empty() ? e : e.withOperands(operands);
  std::vector<Expr> left, right;
  addends(operands[0], left);
  addends(operands[1], right);
  Expr sum = 0;
  for (const Expr &one : left)
    for (const Expr &other : right)
      sum = sum + one * other;
  return sum;
}

bool skewer::isOfDifferences(const std::vector<Expr> &expressions, const std::vector<std::string> &queries,
                             const std::vector<std::string> &keys, Domain domain) {
  if (queries.size() != keys.size())
    return false;
  Substitution moved;
  for (auto [query, key] : llvm::zip(queries, keys)) {
    std::string difference = "_" + key;
    moved[query] = Expr::symbol(key) - Expr::symbol(difference);
    domain[difference] = {domain[key].low - domain[query].high, domain[key].high - domain[query].low};
  }
  for (const Expr &expression : expressions)
    if (usesAny(simplify(expanded(substitute(expression, moved)), domain), keys))
      return false;
  return true;
}

bool skewer::isOfDifferences(const std::vector<Expr> &expressions, const ScoreSpace &space) {
  return isOfDifferences(expressions, space.query, space.key, domainOf(space.sizes));
}

static bool fitsTable(const std::vector<Expr> &expressions, const ScoreSpace &space) {
  int64_t copies = countOf(leadingAxesIn(expressions, space), space);
  int64_t bytes = 4 * space.queries() * space.keys();
  return copies != kRuntime && bytes <= kTableBytes && copies <= kTablesBytes / bytes;
}

BiasKind skewer::biasKindOf(const std::vector<Expr> &expressions, const ScoreSpace &space) {
  if (!usesAny(expressions, space.query))
    return BiasKind::Key;
  bool line = space.query.size() == 1 && space.key.size() == 1;
  if (line && isOfDifferences(expressions, space))
    return BiasKind::Difference;
  if (fitsTable(expressions, space))
    return BiasKind::Table;
  if (!line && isOfDifferences(expressions, space))
    return BiasKind::Difference;
  return BiasKind::Element;
}

std::vector<std::string> skewer::leadingAxesIn(const std::vector<Expr> &expressions, const ScoreSpace &space) {
  return axesIn(expressions, space.leading);
}

int64_t skewer::countOf(const std::vector<std::string> &axes, const ScoreSpace &space) {
  int64_t count = 1;
  for (const std::string &axis : axes) {
    int64_t size = space.sizes.at(axis);
    if (size == kRuntime)
      return kRuntime;
    count *= size;
  }
  return count;
}
