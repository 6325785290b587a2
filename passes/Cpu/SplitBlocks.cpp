// attn-split-blocks. For blocks of a map that see their surroundings (HaloNet, arXiv:2103.12731, as a mask over whole
// maps): the number of a query's block becomes a leading axis, and the keys become those of the block and its halo.
//
// Keys of a halo that lie outside the map are masked. They are read through views that have 0 there, so that tables by
// key - query stay the same at the borders. If blocks do not divide the map, queries of 0 fill the last blocks, and a
// view behind the attention cuts their results off.
#include "passes/Analysis/AxisNames.h"
#include "passes/Cpu/MaskBlocks.h"
#include "passes/Fusion/Reindex.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSPLITBLOCKS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns the change of axes that makes the numbers of the blocks leading axes. The queries of a block get names by
/// their place.
static Reindexing intoBlocks(const AttentionView &view, ArrayRef<BlockAxis> blocks) {
  const ScoreSpace &space = view.space;
  Reindexing change{space};
  ScoreSpace &now = change.space;
  std::vector<std::string> left; // the query axes that are not the number of a block
  for (const std::string &axis : space.query) {
    now.sizes.erase(axis);
    if (llvm::none_of(blocks, [&](const BlockAxis &block) { return block.query == axis && !block.countsQueries(); }))
      left.push_back(axis);
  }
  now.query = axisNames(kQueryAxis, left.size());
  for (auto [axis, name] : llvm::zip(left, now.query)) {
    change.names[axis] = {name};
    change.moved[axis] = Expr::symbol(name);
    now.sizes[name] = space.sizes.at(axis);
  }
  Expr inside = 1;
  for (const BlockAxis &block : blocks) {
    std::string leading = change.addLeading(view, block.count);
    Expr number = Expr::symbol(leading), key = Expr(block.step) * number + Expr::symbol(block.key) + Expr(block.first);
    inside = logicalAnd(inside, logicalAnd(lessEqual(Expr(0), key), less(key, Expr(space.sizes.at(block.key)))));
    change.moved[block.key] = key;
    now.sizes[block.key] = block.keys;
    std::vector<std::string> &names = change.names[block.query];
    Expr &query = change.moved[block.query];
    if (block.countsQueries()) {
      now.sizes[names.back()] = block.rows;
      query = Expr(block.rows) * number + query;
      change.longer[block.query] = {less(query, Expr(space.sizes.at(block.query))), block.padded()};
    } else {
      query = number;
    }
    names.insert(names.begin(), leading);
  }
  Domain domain = domainOf(now);
  change.keyExists = simplify(inside, domain);
  change.mask = simplify(logicalAnd(substitute(*view.mask, change.moved), *change.keyExists), domain);
  return change;
}

static void splitBlocks(AttentionOp attention) {
  auto view = viewOf(attention);
  if (attention.getWeights()) // stored weights are of all queries and keys, in their order
    return;
  if (attention->hasAttr(kAxisExtents) || !view->mask || attention.getScheduleAttr() || view->space.key.size() < 2 ||
      view->hasFunctions())
    return;
  std::vector<BlockAxis> blocks = blocksOf(simplify(*view->mask, view->domain), view->space);
  if (!blocks.empty())
    reindex(attention, intoBlocks(*view, blocks));
}

namespace {
struct SplitBlocks : skewer::impl::AttnSplitBlocksBase<SplitBlocks> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    llvm::for_each(attentions, splitBlocks);
  }
};
} // namespace
