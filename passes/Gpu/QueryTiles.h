// A block's queries: tiles in shared memory from the first step to the last, and maybe fragments in registers.
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
  /// Into registers, if the tile says so; they are full.
  void hold();
  /// The products of the warp's queries with the rows of a tile are added to `before`; with those of one of its tiles
  /// of rows alone.
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
  std::vector<Part> parts; // of each of the layout's queries
};

} // namespace skewer::gpu
