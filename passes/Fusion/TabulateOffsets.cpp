// attn-tabulate-offsets: an operand that is computed for each query and key, but depends on their offset alone, is
// computed for each offset.
#include "dialect/IR/Term.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/BiasKind.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Dependences.h"
#include "passes/Fusion/Provenance.h"
#include "passes/Fusion/Views.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNTABULATEOFFSETS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {

/// A tabulated operand of a term.
struct Table {
  Value tensor;
  Dimensions dimensions; // how the term reads it
};

/// Returns the offsets key - query that the mask leaves. Conjuncts that are not intervals leave all.
subscript::Range offsetsSeen(const std::optional<Expr> &mask, const ScoreSpace &space) {
  subscript::Range seen{1 - space.queries(), space.keys() - 1};
  if (!mask || space.query.size() != 1 || space.key.size() != 1)
    return seen;
  Domain domain = domainOf(space.sizes);
  for (const Expr &conjunct : conjunctsOf(simplify(*mask, domain)))
    if (auto interval = asOffsetInterval(conjunct, space.query[0], space.key[0], domain))
      seen = {std::max(seen.low, interval->low), std::min(seen.high, interval->high)};
  return seen.low <= seen.high ? seen : subscript::Range{0, 0};
}

std::optional<Table> tabulate(TermOp term, unsigned number, const ResolvedEinsum &resolved,
                              const AttentionView &attention) {
  const ScoreSpace &space = attention.space;
  Value operand = term.getInputs()[number];
  const std::vector<Expr> &subscripts = resolved.subscripts[number];
  if (!operand.getDefiningOp() || !usesAny(subscripts, space.query) || !usesAny(subscripts, space.key) ||
      space.query.size() != space.key.size())
    return std::nullopt;
  Domain domain = domainOf(resolved.sizes);
  for (const auto &[axis, range] : domainOf(space.sizes))
    domain[axis] = range;
  Dependences dependences(domain);
  if (!dependences.collect(operand, subscripts) || dependences.computed.empty() ||
      !isOfDifferences(dependences.expressions, space))
    return std::nullopt;

  // Each offset is read at one pair of positions, one of which is 0.
  Summand view(term.getLoc());
  Table table;
  std::vector<std::string> names;
  std::vector<int64_t> shape;
  int64_t elements = 1;
  auto plain = [&](const std::string &axis) {
    if (!usesAny(subscripts, {axis}))
      return;
    int64_t size = space.sizes.count(axis) ? space.sizes.at(axis) : resolved.sizes.at(axis);
    names.push_back(axis);
    shape.push_back(size);
    table.dimensions.push_back({{axis}, {}});
  };
  llvm::for_each(space.leading, plain);
  llvm::for_each(resolved.contracted, plain);
  Substitution pair;
  for (auto [query, key] : llvm::zip(space.query, space.key)) {
    if (!usesAny(subscripts, {query, key}))
      continue;
    int64_t queries = space.sizes.at(query), keys = space.sizes.at(key);
    subscript::Range offsets{1 - queries, keys - 1}, all = offsets;
    if (space.query.size() == 1)
      offsets = offsetsSeen(attention.mask, space);
    std::string row = "r" + std::to_string(names.size());
    Expr difference = Expr::symbol(row) + Expr(offsets.low);
    pair[key] = max(difference, Expr(0));
    pair[query] = max(Expr(0) - difference, Expr(0));
    names.push_back(row);
    int64_t count = offsets.high - offsets.low + 1;
    shape.push_back(count);
    elements *= count;
    Dimension dimension;
    dimension.index = Expr::symbol(key) - Expr::symbol(query) - Expr(offsets.low);
    // Masked pairs must read some row too.
    if (offsets.low > all.low)
      dimension.index = max(dimension.index, Expr(0));
    if (offsets.high < all.high)
      dimension.index = min(dimension.index, Expr(count - 1));
    table.dimensions.push_back(std::move(dimension));
  }
  if (elements >= space.queries() * space.keys())
    return std::nullopt;
  Factor factor{operand, {}};
  for (const Expr &subscript : subscripts)
    factor.subscripts.push_back(substitute(subscript, pair));
  view.factors.push_back(std::move(factor));
  OpBuilder builder(term->getParentOfType<AttentionOp>());
  Type element = getElementTypeOrSelf(operand);
  table.tensor = buildEinsum(builder, view, names, tensorType(shape, element));
  return table.tensor ? std::optional<Table>(table) : std::nullopt;
}

struct TabulateOffsets : skewer::impl::AttnTabulateOffsetsBase<TabulateOffsets> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    function.walk([&](AttentionOp attention) {
      auto view = viewOf(attention);
      for (const Term &said : view->score) {
        TermOp term = said.op;
        ResolvedEinsum resolved = said.einsum;
        bool changed = false;
        for (unsigned number = 0; number < term.getInputs().size(); ++number) {
          Value before = term.getInputs()[number];
          auto table = tabulate(term, number, resolved, *view);
          if (!table)
            continue;
          changed = true;
          resolved.spec.operands[number] = table->dimensions;
          term.getInputsMutable()[number].set(table->tensor);
          if (before.use_empty() || before.hasOneUse())
            term->setLoc(withComposed(term.getLoc(), before.getDefiningOp()));
        }
        if (changed)
          term.setSubscripts(print(resolved.spec));
      }
    });
    eraseDead(function);
  }
};
} // namespace
