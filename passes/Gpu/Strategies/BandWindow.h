// A window of a table by key - query, in shared memory: the rows that a tile of queries and keys reaches.
#pragma once
#include "passes/Gpu/Strategy.h"

namespace skewer::gpu {

class BandWindow {
public:
  BandWindow(const KernelContext &in, const BandTerm &term, const SharedTile &tile)
      : in(in), term(term), windowTile(tile) {}

  /// Finds the source of the window's rows; `locateColumns` takes the block's columns of rows of the values' width.
  void locate() { source = in.place.keysOf(term.table, term.depth); }
  void locateColumns() { source = in.place.columnsOf(term.table); }
  void fill(Value firstKey, Value copy);
  /// Returns whether some pair of the tile has a row (i1, the same in all threads of the block); null: always.
  Value hasRows(Value firstKey);
  /// Returns the rows that one of the warp's tiles of 16 queries reaches: `keys` + 16 rows from `first` on.
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
