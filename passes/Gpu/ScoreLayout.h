// Which numbers of a warp's rows a thread holds: the layout of mma.sync's results, which is that of each warp in
// wgmma's. A warp has tiles of 16 rows, one below the other, and of each tile 8 columns an accumulator: rows g and g +
// 8, columns 2t and 2t + 1 (g = lane / 4, t = lane % 4). Everybody else asks here.
#pragma once
#include "passes/Gpu/GpuBuilder.h"

namespace skewer::gpu {

using Tiles = std::vector<Accumulator>;

/// Where a thread stands in its block and its warp; i32.
struct ThreadPlace {
  Value thread, warp, lane;
  Value group, inGroup; // lane = 4 × group + inGroup
};
ThreadPlace threadPlace(GpuBuilder &);

/// One of the numbers that a thread holds.
struct HeldNumber {
  size_t tile, part; // the accumulator, and which of its numbers
  size_t row;        // of the thread's rows
  int64_t column;    // counted from the thread's first one
};

class ScoreLayout {
public:
  /// Of each warp: `rowTiles` × 16 rows of `columns` columns.
  ScoreLayout(GpuBuilder &b, const ThreadPlace &at, int64_t rowTiles, int64_t columns)
      : b(b), at(at), tilesOfRows(rowTiles), columns(columns) {}
  /// The same rows of other columns, or one tile of the rows.
  ScoreLayout across(int64_t columns) const { return {b, at, tilesOfRows, columns}; }
  ScoreLayout oneRowTile() const { return {b, at, 1, columns}; }

  int64_t rowTiles() const { return tilesOfRows; }
  /// Tiles of 8 columns.
  size_t columnTiles() const { return size_t(columns / 8); }
  size_t tiles() const { return size_t(tilesOfRows) * columnTiles(); }
  /// Rows of a thread.
  size_t rows() const { return size_t(2 * tilesOfRows); }
  Tiles zeros() const;
  /// In the order in which they stand: one tile of rows after another.
  std::vector<HeldNumber> numbers() const;
  std::vector<HeldNumber> numbersOfRow(size_t row) const;
  size_t rowOf(size_t tile, size_t part) const { return 2 * (tile / columnTiles()) + part / 2; }

  // Positions; i32.
  /// The first row of the thread's warp in its block, and of one of its tiles of rows.
  Value warpRow() const;
  /// The thread's first row of those that begin at `first`, and one of its rows from there.
  Value firstRow(Value first) const { return b.add(first, at.group); }
  Value rowFrom(Value firstRow, size_t row) const { return b.add(firstRow, 8 * int64_t(row)); }
  Value rowInBlock(size_t row) const { return rowFrom(firstRow(warpRow()), row); }
  /// A column, counted from the thread's first one, in its tile or from `first` on.
  Value column(int64_t column) const { return b.add(b.shiftLeft(at.inGroup, 1), column); }
  Value columnFrom(Value first, int64_t column) const {
    return b.add(b.add(first, b.shiftLeft(at.inGroup, 1)), column);
  }

  /// What all lanes that hold a row make of their numbers.
  Value acrossRow(Value number, llvm::function_ref<Value(Value, Value)> combine) const;
  /// Whether the thread is the first one that holds its rows (i1).
  Value isFirstOfRow() const;

private:
  GpuBuilder &b;
  const ThreadPlace &at;
  int64_t tilesOfRows, columns;
};

/// Of one tile of rows: a band whose column c is for key - query = c - 15, counted in the tile, becomes scores of the
/// keys, which are 16 columns fewer; and weights of the keys become such a band, with `noWeight` where it has no key. By
/// shuffles.
Tiles skewedToKeys(GpuBuilder &, const ThreadPlace &, const Tiles &band);
Tiles skewedToBand(GpuBuilder &, const ThreadPlace &, const Tiles &weights, float noWeight);

} // namespace skewer::gpu
