// The strategy "gathered_keys": k_j·R[row(i, j)], where any function of both positions picks the row. It multiplies all
// rows with the keys of a tile, and each query gathers its own products.
#include "passes/Cpu/Strategies/PickedRows.h"

using namespace mlir;
using namespace skewer;

namespace {
class GatheredKeys : public KeyRows {
public:
  using KeyRows::KeyRows;
  LineUse lineUse() const override { return LineUse::AddsByTile; }
  void plan(Layout &layout) override { planKeys(layout, picked()); }

  void meetKeys(const KeyBlock &block, Value vector, int64_t vectors) override {
    keyProducts(b.index(firstRow()), b.index(term.endRow), vector, vectors);
    Value key = b.mul(vector, lanes), lines = kernel.lines.of(term.sum);
    b.loop(b.index(0), block.rows, 1, [&](Value row) {
      Positions::Values at = positions.axesAt(b.add(block.firstRow, row), {});
      Value line = b.add(b.add(b.mul(row, lineStride), lineMargin), b.sub(key, block.lowKey));
      for (int64_t v = 0; v < vectors; ++v)
        addToLineAt(lines, pick(at, key, v), b.add(line, v * lanes));
    });
  }
};

class GatheredKeysStrategy : public RowStrategy {
public:
  GatheredKeysStrategy() : RowStrategy(RowKind::Any, /*keySide=*/true) {}
  StringRef name() const override { return "gathered_keys"; }
  void addSizes(const TermForm &form, const AttentionShape &, AttentionSizes &sizes) const override {
    const RowTerm &term = *form.as<RowTerm>();
    sizes.hasRowLine = true;
    sizes.readsPanels = true;
    // All rows are multiplied with the keys, once for each block of queries.
    sizes.more.push_back([depth = term.depth * rowsPicked(term), element = term.element](
                             const AttentionSizes &all, const Blocking &blocking, const Target &target) {
      int64_t rows = blocking.tileRows, keyVectors = llvm::divideCeil(all.keys, target.lanes);
      double cycles = multiplyCycles(rows, keyVectors, depth, blocking.registers(), target, element);
      return cycles / double(rows * blocking.rowBlock);
    });
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<GatheredKeys>(kernel, *form.as<RowTerm>());
  }

private:
  Counted count(const RowTerm &term, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    return {rowBlocksOf(shape, tile) * tile.columns * double(rowsPicked(term)),
            target.gatherCycles * double(shape.queries) * tile.columns};
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeGatheredKeys() { return std::make_unique<GatheredKeysStrategy>(); }
