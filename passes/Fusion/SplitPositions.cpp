// attn-split-positions: if the mask separates positions by chunk or by residue, the chunk or the residue becomes a
// leading axis.
#include "dialect/IR/Term.h"
#include "passes/Fusion/Factorise.h"
#include "passes/Fusion/SplitAttention.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSPLITPOSITIONS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// If the algebra cannot decide a conjunct, it is evaluated at all pairs of at most this many classes.
static constexpr int64_t kMostClasses = 256;

namespace {
void addDivisors(const Expr &e, std::set<int64_t> &divisors) {
  if ((e.kind() == Kind::FloorDiv || e.kind() == Kind::Mod) && e.operands()[1].isConstant())
    divisors.insert(e.operands()[1].value());
  for (const Expr &operand : e.operands())
    addDivisors(operand, divisors);
}

/// Returns whether the conjunct holds exactly if query and key are of one class.
bool saysSameClass(const Expr &conjunct, const Split &split) {
  Expr n = Expr::symbol("_query class"), m = Expr::symbol("_key class");
  Domain domain{{"_query class", {0, split.classes - 1}},
                {"_key class", {0, split.classes - 1}},
                {"_query", {0, split.rest - 1}},
                {"_key", {0, split.rest - 1}}};
  Expr said = simplify(substitute(conjunct, {{split.query, split.queryAt(n, Expr::symbol("_query"))},
                                             {split.key, split.keyAt(m, Expr::symbol("_key"))}}),
                       domain);
  if (said == simplify(equal(n, m), domain))
    return true;
  for (const std::string &symbol : symbolsOf(said))
    if (symbol != n.name() && symbol != m.name())
      return false;
  if (split.classes > kMostClasses || !readsOf(said).empty())
    return false;
  for (int64_t a = 0; a < split.classes; ++a)
    for (int64_t b = 0; b < split.classes; ++b) {
      auto holds = evaluate(said, {{n.name(), a}, {m.name(), b}});
      if (!holds || (*holds != 0) != (a == b))
        return false;
    }
  return true;
}

/// Returns an axis of a map that queries and keys share: rows of windows, lines.
std::optional<Split> findAxis(const Expr &conjunct, const ScoreSpace &space) {
  if (space.query.size() != space.key.size())
    return std::nullopt;
  for (auto [query, key] : llvm::zip(space.query, space.key)) {
    int64_t size = space.sizes.at(query);
    Split split{query, key, 1, true, size, 0};
    if (size > 1 && size == space.sizes.at(key) && saysSameClass(conjunct, split))
      return split;
  }
  return std::nullopt;
}

std::optional<Split> findSplit(const Expr &conjunct, const ScoreSpace &space) {
  if (space.query.size() > 1)
    return findAxis(conjunct, space);
  int64_t positions = space.queries();
  std::set<int64_t> divisors;
  addDivisors(conjunct, divisors);
  for (int64_t divisor : divisors) {
    if (divisor < 2 || divisor >= positions || positions % divisor)
      continue;
    for (bool isChunk : {true, false}) {
      int64_t others = positions / divisor;
      Split split{
          space.query[0], space.key[0], divisor, isChunk, isChunk ? others : divisor, isChunk ? divisor : others};
      if (saysSameClass(conjunct, split))
        return split;
    }
  }
  return std::nullopt;
}

bool splitOnce(AttentionOp attention) {
  if (attention.getWeights()) // stored weights are of all queries and keys, in their order
    return false;
  auto view = viewOf(attention);
  const ScoreSpace &space = view->space;
  if (!view->mask || space.query.size() != space.key.size() || space.queries() != space.keys() || view->hasFunctions())
    return false;
  for (const Expr &conjunct : conjunctsOf(simplify(*view->mask, view->domain)))
    if (auto split = findSplit(conjunct, space))
      return splitAttention(attention, *split);
  return false;
}

struct SplitPositions : skewer::impl::AttnSplitPositionsBase<SplitPositions> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(kWholePositions))
      return;
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    llvm::for_each(attentions, splitOnce);
  }
};
} // namespace
