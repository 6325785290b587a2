// The strategy "band": q_i·R[±(j - i) + c] on whole positions. Before the scores, it computes the logits of the table
// columns that a group of rows can reach in a block of keys; a tile reads them skewed.
#include "passes/Cpu/Strategies/OffsetTable.h"

using namespace mlir;
using namespace skewer;

// Vector operations for each vector of scores: a store, a load and an addition.
static constexpr double kBandSteps = 3;

namespace {
class Band : public OffsetLogits {
public:
  using OffsetLogits::OffsetLogits;
  double variance() const override { return term.scale * term.scale * double(term.depth); }

  void computeBlock(const KeyBlock &block) override {
    auto compute = [&](Value group, Value high) { computeLogits(group, block.firstRow, block.lowKey, high); };
    if (together == 1)
      return context.forLiveGroups(block, compute);
    b.loop(b.index(0), block.groups, together, [&](Value group) {
      auto seen = context.liveTogether(block, group);
      b.when(seen.some, [&] { compute(group, seen.keys.high); });
    });
  }

  void addToScores(ScoreTile &tile) override {
    // Row r of the group reads one element earlier than row r-1: the skew.
    Value start = startOf(tile.group, tile.firstRow, tile.lowKey);
    Value origin = b.add(b.add(b.add(b.mul(tile.row, logitsStride), margin), firstColumn()),
                         b.sub(b.sub(tile.key, tile.position), b.mul(start, lanes)));
    addToTile(b, logitsMemory, origin, logitsStride - 1, false, tile);
  }
};

class BandStrategy : public TermStrategy {
public:
  StringRef name() const override { return "band"; }
  AddOrder order() const override { return AddOrder::Offsets; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    return linearTerm(form, shape, /*isWhole=*/true);
  }
  bool takesLengths() const override { return true; }
  void addSizes(const TermForm &, const AttentionShape &, AttentionSizes &sizes) const override { ++sizes.extraPerKey; }
  /// Counts for each group of rows as many columns as keys, and a margin for each block of keys.
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    ElementType element = form.as<RowTerm>()->element;
    TileSizes sizes = tile;
    sizes.tileRows *= cpuEngineFor(element, target).groupsTogether(tile.tileRows, 1, tile.rowBlock, target);
    double rows = double(sizes.tileRows), groups = double(llvm::divideCeil(shape.queries, sizes.tileRows));
    double window = tile.keys + keyBlocksOf(shape, tile) * (rows - 1 + double(tile.lanes) / 2);
    double flops = 2 * rows * groups * window * double(form.as<RowTerm>()->depth);
    double added = kBandSteps * double(shape.queries) * tile.columns / double(tile.lanes);
    return {flops, productCycles(flops, sizes, target, element) + added};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<Band>(kernel, *form.as<RowTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeBand() { return std::make_unique<BandStrategy>(); }
