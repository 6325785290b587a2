// The rows of a table by key - query that a tile of queries and keys reaches: a window of the table in shared memory.
#pragma once
#include "passes/Gpu/Strategy.h"

namespace skewer::gpu {

class BandWindow {
public:
  BandWindow(const KernelContext &in, const BandTerm &term, const SharedTile &tile)
      : in(in), term(term), windowTile(tile) {}

  /// Where its rows come from; of the values' width, the block's columns of them.
  void locate() { source = in.place.keysOf(term.table, term.depth); }
  void locateColumns() { source = in.place.columnsOf(term.table); }
  void fill(Value firstKey, Value copy);
  /// Whether some pair of the tile has a row (i1, the same for all of the block); null: always.
  Value hasRows(Value firstKey);
  /// The rows that one of the warp's tiles of 16 queries reaches: `keys` + 16 of them from here on.
  TileRows rowsOf(int64_t rowTile, Value copy);
  const SharedTile &tile() const { return windowTile; }

private:
  std::pair<Value, Value> rowAt(Value offset, Value constant);

  const KernelContext &in;
  const BandTerm &term;
  const SharedTile &windowTile;
  RowSource source;
};

} // namespace skewer::gpu
