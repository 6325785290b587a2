// Rows by key - query that are added to the values. The strategy skews the weights by shuffles, the other way round
// than a band of scores, and multiplies them with the rows that the tile reaches.
#include "passes/Gpu/Strategies/BandWindow.h"
#include "passes/Gpu/Strategies/Strategies.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class ValueBand : public Strategy {
public:
  ValueBand(const KernelContext &in, const BandTerm &term, const SharedTile &tile)
      : Strategy(in), term(term), window(in, term, tile) {}

  void locate() override { window.locateColumns(); }
  bool fillsValues() const override { return true; }
  void fill(Value firstKey, Value copy) override {
    if (Value some = window.hasRows(firstKey))
      b.when(some, [&] { window.fill(firstKey, copy); });
    else
      window.fill(firstKey, copy);
  }

  void addToValues(const Step &step, const Tiles &weights, WeightedSums &sums) override {
    std::vector<TileRows> rows; // for each of the warp's tiles of rows
    for (int64_t rowTile = 0; rowTile < in.tile.rowTiles(); ++rowTile)
      rows.push_back(window.rowsOf(rowTile, step.copy));
    Value some = window.hasRows(step.firstKey);
    if (!some)
      return add(step, rows, weights, sums);
    SmallVector<Value> flat = flattened(sums.tiles);
    sums.tiles = gathered(b.choose(
        some, TypeRange(ValueRange(flat)),
        [&] {
          WeightedSums inside = sums;
          add(step, rows, weights, inside);
          return flattened(inside.tiles);
        },
        [&] { return flat; }));
  }

private:
  void add(const Step &step, ArrayRef<TileRows> rows, const Tiles &weights, WeightedSums &sums) {
    in.pipeline.bring([&] { window.fill(step.firstKey, step.copy); });
    float noWeight = in.shape.attention.noWeight();
    size_t columnTiles = in.place.scores.columnTiles(), ofRows = sums.tiles.size() / rows.size();
    for (size_t rowTile = 0; rowTile < rows.size(); ++rowTile) {
      Tiles part(weights.begin() + int64_t(rowTile * columnTiles),
                 weights.begin() + int64_t((rowTile + 1) * columnTiles));
      Tiles band = skewedToBand(b, in.at, scaled(b, part, term.scale, noWeight), noWeight);
      auto first = sums.tiles.begin() + int64_t(rowTile * ofRows);
      WeightedSums ofTile{{first, first + int64_t(ofRows)}, {}, {}};
      // A row of the window that a query does not meet has no weight, so the sums are always checked.
      in.engine.addWeighted(band, rows[rowTile], /*checked=*/true, ofTile);
      llvm::copy(ofTile.tiles, first);
    }
  }

  const BandTerm &term;
  BandWindow window;
};

} // namespace

namespace skewer::gpu {
void addValueBands(const KernelContext &in, Strategies &all) {
  for (auto [term, tile] : llvm::zip_equal(in.shape.valueBands, in.layout.valueBands))
    all.push_back(std::make_unique<ValueBand>(in, term, tile));
}
} // namespace skewer::gpu
