// Tells which numbers of a warp's rows a thread holds. The layout is that of mma.sync's results, which each warp has in
// wgmma's too. A warp has tiles of 16 rows, one below the other; an accumulator holds 8 columns of such a tile: rows g
// and g + 8, columns 2t and 2t + 1 (g = lane / 4, t = lane % 4). All other code asks this class.
#pragma once
#include "passes/Gpu/GpuBuilder.h"

namespace skewer::gpu {

/// Four accumulators of a 16×8 tile: columns 2t and 2t+1 of row g, then of row g+8 (g = lane/4, t = lane%4).
using Accumulator = std::array<Value, 4>;
using Tiles = std::vector<Accumulator>;

/// Converts accumulators to their numbers, four for each accumulator, and back.
llvm::SmallVector<Value> flattened(llvm::ArrayRef<Accumulator>);
Tiles gathered(ValueRange);

/// Place of a thread in its block and its warp; i32.
struct ThreadPlace {
  Value thread, warp, lane;
  Value group, inGroup; // lane = 4 × group + inGroup
};
ThreadPlace threadPlace(GpuBuilder &);

/// One of the numbers that a thread holds.
struct HeldNumber {
  size_t tile, part; // the accumulator, and the number's place in it
  size_t row;        // which of the thread's rows
  int64_t column;    // counted from the thread's first column
};

class ScoreLayout {
public:
  /// Each warp has `rowTiles` × 16 rows of `columns` columns.
  ScoreLayout(GpuBuilder &b, const ThreadPlace &at, int64_t rowTiles, int64_t columns)
      : b(b), at(at), tilesOfRows(rowTiles), columnCount(columns) {}
  /// Returns the layout of the same rows with other columns; `oneRowTile` returns the layout of one tile of rows.
  ScoreLayout across(int64_t columns) const { return {b, at, tilesOfRows, columns}; }
  ScoreLayout oneRowTile() const { return {b, at, 1, columnCount}; }

  int64_t rowTiles() const { return tilesOfRows; }
  int64_t columns() const { return columnCount; }
  /// Returns the number of tiles of 8 columns.
  size_t columnTiles() const { return size_t(columnCount / 8); }
  size_t tiles() const { return size_t(tilesOfRows) * columnTiles(); }
  /// Returns the number of rows of a thread.
  size_t rows() const { return size_t(2 * tilesOfRows); }
  Tiles zeros() const;
  /// Returns the numbers in the order in which they stand: one tile of rows after another.
  std::vector<HeldNumber> numbers() const;
  std::vector<HeldNumber> numbersOfRow(size_t row) const;
  size_t rowOf(size_t tile, size_t part) const { return 2 * (tile / columnTiles()) + part / 2; }

  // Positions; i32.
  /// Returns the first row of the thread's warp in its block.
  Value warpRow() const;
  /// Returns the thread's first row if the warp's rows begin at `first`; `rowFrom` returns one of its rows from there.
  Value firstRow(Value first) const { return b.add(first, at.group); }
  Value rowFrom(Value firstRow, size_t row) const { return b.add(firstRow, 8 * int64_t(row)); }
  Value rowInBlock(size_t row) const { return rowFrom(firstRow(warpRow()), row); }
  /// Returns the place in its tile of a column that is counted from the thread's first one; `columnFrom` adds `first`.
  Value column(int64_t column) const { return b.add(b.shiftLeft(at.inGroup, 1), column); }
  Value columnFrom(Value first, int64_t column) const {
    return b.add(b.add(first, b.shiftLeft(at.inGroup, 1)), column);
  }

  /// Combines the numbers of all lanes that hold a row; all of them get the result.
  Value acrossRow(Value number, llvm::function_ref<Value(Value, Value)> combine) const;
  /// Returns whether the thread is the first one that holds its rows (i1).
  Value isFirstOfRow() const;

private:
  GpuBuilder &b;
  const ThreadPlace &at;
  int64_t tilesOfRows, columnCount;
};

/// Skews one tile of rows by shuffles. `skewedToKeys`: a band, whose column c is for key - query = c - 15 (counted in
/// the tile), becomes scores of the keys, which are 16 columns fewer. `skewedToBand`: weights of the keys become such a
/// band, with `noWeight` where it has no key.
Tiles skewedToKeys(GpuBuilder &, const ThreadPlace &, const Tiles &band);
Tiles skewedToBand(GpuBuilder &, const ThreadPlace &, const Tiles &weights, float noWeight);

} // namespace skewer::gpu
