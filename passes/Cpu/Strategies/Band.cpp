// "band": q_i · R for the columns of a packed table that a group of rows can reach in a block of keys, computed before
// the scores; a tile reads it skewed.
#include "passes/Cpu/Strategies/OffsetTable.h"

using namespace mlir;
using namespace skewer;

namespace {
class Band : public OffsetLogits {
public:
  using OffsetLogits::OffsetLogits;
  double variance() const override { return term.scale * term.scale * double(term.depth); }

  void computeBlock(const KeyBlock &block) override {
    kernel.forLiveGroups(block,
                         [&](Value group, Value high) { computeLogits(group, block.firstRow, block.lowKey, high); });
  }

  void addToScores(ScoreTile &tile) override {
    // Row r of the group reads one element earlier than row r-1: the skew.
    Value start = startOf(tile.group, tile.firstRow, tile.lowKey);
    Value origin = b.add(b.add(b.add(b.mul(tile.row, logitsStride), margin), firstColumn()),
                         b.sub(b.sub(tile.key, tile.position), b.mul(start, lanes)));
    addToTile(b, tileRows, logitsMemory, origin, logitsStride - 1, false, tile);
  }
};
} // namespace

std::unique_ptr<CpuStrategy> skewer::makeBand(CpuKernel &kernel, const OffsetTerm &term) {
  return std::make_unique<Band>(kernel, term);
}
