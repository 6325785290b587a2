// Weights times rows of the keys: the values, and rows that are added to them.
#include "passes/Analysis/FunctionRange.h"
#include "passes/Gpu/Strategies/Strategies.h"

using namespace skewer;
using namespace skewer::gpu;

namespace {

class RowsOfKeys : public Strategy {
public:
  RowsOfKeys(const KernelContext &in, const Walk &rows, double scale, const SharedTile &tile)
      : Strategy(in), rows(rows), scale(scale), tile(tile) {}

  void locate() override { source = in.place.columnsOf(rows); }
  bool fillsValues() const override { return true; }
  void fill(Value firstKey, Value copy) override {
    in.pipeline.fillRows(tile, in.place.inTile(source, firstKey), firstKey, in.place.keys(), copy);
  }
  void addToValues(const Step &step, const Tiles &weights, WeightedSums &sums) override {
    in.pipeline.bring([&] { fill(step.firstKey, step.copy); });
    bool checked = step.crossed || hidesByFunction(in.shape.attention) || in.shape.element.isF32();
    in.engine.issueWeighted(scaled(b, weights, scale, in.shape.attention.noWeight()), {tile, step.copy, {}}, checked,
                            sums);
  }

private:
  const Walk &rows;
  double scale;
  const SharedTile &tile;
  RowSource source;
};

} // namespace

namespace skewer::gpu {
void addValueRows(const KernelContext &in, Strategies &all) {
  all.push_back(std::make_unique<RowsOfKeys>(in, in.shape.attention.value, 1, in.layout.values));
  for (auto [term, tile] : llvm::zip_equal(in.shape.valueRows, in.layout.valueRows))
    all.push_back(std::make_unique<RowsOfKeys>(in, term.table, term.scale, tile));
}
} // namespace skewer::gpu
