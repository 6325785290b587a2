// A query meets rows of a table by key - query. The strategy multiplies the queries with the rows that the tile
// reaches; the result is a band, which it skews by shuffles. Column c of a tile of 16 queries is for its last query and
// the c-th key: key - query = c - 15, counted in the tile.
#include "passes/Gpu/Strategies/BandWindow.h"
#include "passes/Gpu/Strategies/Strategies.h"

using namespace skewer;
using namespace skewer::gpu;

namespace {

class Band : public Strategy {
public:
  Band(const KernelContext &in, const BandTerm &term, const GpuLayout::Band &places)
      : Strategy(in), term(term), queries(in.layout.numberOf(term.query, term.depth)), window(in, term, places.window) {
  }

  void locate() override { window.locate(); }
  void fill(Value firstKey, Value copy) override { window.fill(firstKey, copy); }
  std::optional<double> scaleOfProducts() const override { return term.scale; }
  void beginProducts(const Step &step, ScoreSums &sums) override {
    in.pipeline.bring([&] { fill(step.firstKey, step.copy); });
    Tiles skewed;
    for (int64_t rowTile = 0; rowTile < in.tile.rowTiles(); ++rowTile)
      llvm::append_range(skewed, skewedToKeys(b, in.at, bandOf(rowTile, step.copy)));
    sums.add(b, skewed);
  }

private:
  Tiles bandOf(int64_t rowTile, Value copy) {
    TileRows rows = window.rowsOf(rowTile, copy);
    Tiles before = in.place.scores.oneRowTile().across(in.tile.keys + 16).zeros();
    return in.queries.productsOfRowTile(queries, rowTile, rows, before);
  }

  const BandTerm &term;
  size_t queries;
  BandWindow window;
};

} // namespace

namespace skewer::gpu {
void addBands(const KernelContext &in, Strategies &all) {
  for (auto [term, places] : llvm::zip_equal(in.shape.bands, in.layout.bands))
    if (!term.ofKey)
      all.push_back(std::make_unique<Band>(in, term, places));
}
} // namespace skewer::gpu
