// attn-split-windows. In windows on maps, adjacent queries see almost the same keys of each line. So lines are divided
// into blocks of queries, each with the few keys that the windows of the block reach.
#include "dialect/IR/Term.h"
#include "passes/Cpu/MaskBlocks.h"
#include "passes/Fusion/SplitAttention.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSPLITWINDOWS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
// A block reads a multiple of kLanes keys of each line: they fill vectors on every processor. Blocks are faster only if
// these keys are a small part of a line. On a shorter line, tiles of whole lines skip as many keys, and more queries
// share what a tile reads. Milliseconds of blocks, then of whole lines, for one head of depth 64 on an EPYC core with
// AVX-512:
// - 8 queries a block, windows of 7 keys: lines of 32 0.34, 0.46; lines of 56 1.08, 1.08;
// - 4 queries a block, windows of 13 keys: lines of 32 1.19, 0.93; of 40 1.98, 1.78; of 48 1.32 in
//   blocks;
// - 2 queries a block: lines of 50 4.69, 2.76; lines of 34, windows of 5 keys, 1.72, 0.43.
constexpr int64_t kLanes = 16;
struct BlockOfQueries {
  int64_t queries, leastLines; // lines must be at least this many times as long as the window
};
constexpr BlockOfQueries kBlocks[] = {{16, 2}, {8, 2}, {4, 3}};

/// Returns the keys of a line that each query of a line may see; nothing if a query sees none, or no conjunct is of the
/// line alone.
std::vector<subscript::Range> windowsOf(ArrayRef<Expr> conjuncts, const std::string &query, const std::string &key,
                                        const AxisSizes &sizes) {
  std::vector<Expr> ofLine;
  for (const Expr &conjunct : conjuncts) {
    std::set<std::string> symbols = symbolsOf(conjunct);
    symbols.erase(query);
    symbols.erase(key);
    if (symbols.empty() && readNodes(conjunct).empty())
      ofLine.push_back(conjunct);
  }
  return ofLine.empty() ? std::vector<subscript::Range>() : keysOfBlocks(ofLine, query, key, 1, sizes);
}

/// Returns the narrowest window, of a multiple of kLanes keys, that moves evenly with such blocks of queries and holds
/// all keys that they see; nothing if lines are too short for it.
std::optional<Split::Window> windowOf(ArrayRef<subscript::Range> windows, BlockOfQueries block) {
  int64_t step = block.queries;
  auto size = static_cast<int64_t>(windows.size());
  for (int64_t keys = kLanes; keys * block.leastLines <= size; keys += kLanes)
    for (int64_t first = 0; first > -size; --first) {
      bool holds = true;
      for (int64_t query = 0; query < size && holds; ++query) {
        int64_t low = std::clamp(query / step * step + first, int64_t(0), size - keys);
        holds = low <= windows[query].low && windows[query].high < low + keys;
      }
      if (holds)
        return Split::Window{first, size - keys, keys};
    }
  return std::nullopt;
}

bool splitWindows(AttentionOp attention) {
  auto view = viewOf(attention);
  const ScoreSpace &space = view->space;
  if (attention->hasAttr(kAxisExtents)) // the length of a line is known at run time only
    return false;
  if (attention.getWeights()) // stored weights are of all queries and keys, in their order
    return false;
  if (!view->mask || space.query.size() < 2 || space.query.size() != space.key.size() ||
      space.queries() != space.keys() || attention.getScheduleAttr() || view->hasFunctions())
    return false;
  const std::string &query = space.query.back(), &key = space.key.back();
  int64_t size = space.sizes.at(query);
  if (size != space.sizes.at(key))
    return false;
  std::vector<subscript::Range> windows =
      windowsOf(conjunctsOf(simplify(*view->mask, view->domain)), query, key, space.sizes);
  if (windows.empty())
    return false;
  std::optional<Split> best;
  for (const BlockOfQueries &block : kBlocks) {
    int64_t step = block.queries;
    if (size % step)
      continue;
    auto window = windowOf(windows, block);
    if (window && (!best || window->keys < best->window->keys))
      best = Split{query, key, step, true, size / step, step, window};
  }
  return best && splitAttention(attention, *best);
}

struct SplitWindows : skewer::impl::AttnSplitWindowsBase<SplitWindows> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    llvm::for_each(attentions, splitWindows);
  }
};
} // namespace
