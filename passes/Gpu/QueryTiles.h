// A block's queries: they stay as tiles in shared memory from the first step to the last, and optionally as fragments
// in registers.
#pragma once
#include "passes/Gpu/BlockPlace.h"
#include "passes/Gpu/Engine.h"

namespace skewer::gpu {

class QueryTiles {
public:
  QueryTiles(GpuBuilder &b, const GpuAttention &shape, const GpuLayout &layout, const BlockPlace &place,
             Pipeline &pipeline, Engine &engine);

  bool isEmpty() const { return parts.empty(); }
  void fill();
  /// Loads the queries into registers if the tile says so (`keepQueries`). Their tiles must be full.
  void hold();
  /// Returns `before` plus the products of the warp's queries with the rows of a tile that all warps meet; they are
  /// issued (Engine.h). `productsOfRowTile` uses only one of the warp's tiles of 16 queries, and rows of the warp's own.
  Tiles products(size_t number, const TileRows &rows, const Tiles &before, int64_t together = INT64_MAX);
  Tiles productsOfRowTile(size_t number, int64_t rowTile, const TileRows &rows, const Tiles &before);
  /// See Strategy.h.
  int64_t stepsTogether() const { return shape.tile.isSingleBuffered() ? 4 : INT64_MAX; }

private:
  struct Part {
    RowSource source;
    std::vector<RowFragment> held;
  };
  TileRows warpRows(size_t number) const { return {layout.queries[number].tile, {}, place.scores.warpRow()}; }

  GpuBuilder &b;
  const GpuAttention &shape;
  const GpuLayout &layout;
  const BlockPlace &place;
  Pipeline &pipeline;
  Engine &engine;
  std::vector<Part> parts; // one for each entry of the layout's `queries`
};

} // namespace skewer::gpu
