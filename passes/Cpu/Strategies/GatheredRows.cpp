// The strategy "gathered_rows": q_i·R[row(i, j)], where any function of both positions picks the row. It computes the
// logits of all rows for the queries of a block, and each vector of keys gathers its own logits into the line of
// biases.
#include "passes/Cpu/Strategies/PickedRows.h"

using namespace mlir;
using namespace skewer;

namespace {
class GatheredRows : public QueryRows {
public:
  using QueryRows::QueryRows;
  LineUse lineUse() const override { return LineUse::Adds; }
  void plan(Layout &layout) override { planRows(layout, rowBlock); }

  void computeRows(const RowBlock &block) override {
    b.loop(b.index(0), block.groups, 1,
           [&](Value group) { rowLogits(group, firstPanel(), endPanel(), b.mul(group, tileRows * productStride)); });
  }

  void addToLine(const BiasRow &row) override {
    Positions::Values at = positions.axesAt(row.position, {});
    Value products = b.mul(row.row, productStride);
    b.loop(row.lowKey, row.highKey, lanes, [&](Value key) {
      Value guard, rows = pickedRows(at, lanesFrom(key), guard);
      addToLineAt(row.memory, pick(products, rows, guard), b.add(row.line, b.sub(key, row.lowKey)));
    });
  }
};

class GatheredRowsStrategy : public RowStrategy {
public:
  GatheredRowsStrategy() : RowStrategy(RowKind::Any, /*keySide=*/false) {}
  StringRef name() const override { return "gathered_rows"; }
  void addSizes(const TermForm &form, const AttentionShape &, AttentionSizes &sizes) const override {
    sizes.hasRowLine = true;
    sizes.extraPerRow += rowsPicked(*form.as<RowTerm>());
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<GatheredRows>(kernel, *form.as<RowTerm>());
  }

private:
  Counted count(const RowTerm &term, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    double queries = double(shape.queries);
    return {queries * double(rowsPicked(term)), target.gatherCycles * queries * tile.columns};
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeGatheredRows() { return std::make_unique<GatheredRowsStrategy>(); }
