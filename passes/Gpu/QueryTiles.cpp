// Queries and their products with rows of tiles.
#include "passes/Gpu/QueryTiles.h"

using namespace skewer;
using namespace skewer::gpu;

QueryTiles::QueryTiles(GpuBuilder &b, const GpuAttention &shape, const GpuLayout &layout, const BlockPlace &place,
                       Pipeline &pipeline, Engine &engine)
    : b(b), shape(shape), layout(layout), place(place), pipeline(pipeline), engine(engine) {
  for (const GpuLayout::Queries &part : layout.queries)
    parts.push_back({place.queriesOf(part.walk, part.depth), {}});
}

void QueryTiles::fill() {
  for (auto [part, places] : llvm::zip_equal(parts, layout.queries))
    pipeline.fillRows(places.tile, part.source, place.row, place.queries());
}

void QueryTiles::hold() {
  if (shape.tile.keepQueries)
    for (size_t number = 0; number < parts.size(); ++number)
      parts[number].held = engine.hold(warpRows(number), shape.tile.rowTiles());
}

Tiles QueryTiles::products(size_t number, const TileRows &rows, const Tiles &before, int64_t together) {
  const std::vector<RowFragment> &held = parts[number].held;
  if (held.empty())
    together = std::min(together, stepsTogether());
  return engine.issueProducts(before, {warpRows(number), shape.tile.rowTiles(), held}, rows, together);
}

Tiles QueryTiles::productsOfRowTile(size_t number, int64_t rowTile, const TileRows &rows, const Tiles &before) {
  std::vector<RowFragment> held = parts[number].held;
  int64_t together = held.empty() ? stepsTogether() : INT64_MAX, steps = layout.queries[number].tile.steps();
  if (!held.empty())
    held = {held.begin() + rowTile * steps, held.begin() + (rowTile + 1) * steps};
  TileRows from = warpRows(number);
  from.first = b.add(from.first, 16 * rowTile);
  return engine.products(before, {from, 1, held}, rows, together);
}
