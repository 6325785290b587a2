// Which queries, columns of the values and leading indices (batch, head) a block and its threads have, and the axes at
// their positions.
#pragma once
#include "passes/Gpu/Operands.h"
#include "passes/Gpu/Pipeline.h"
#include "passes/Gpu/ScoreLayout.h"

namespace skewer::gpu {

/// The leading axes of the index with this number (index).
Axes leadingAxes(GpuBuilder &, Operands &, const GpuAttention &, Value number);

class BlockPlace {
public:
  BlockPlace(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const ThreadPlace &at);

  Value row;         // first query of the block
  Value threadRow;   // the thread's first one
  int64_t columns;   // of the values that the block has
  Value firstColumn; // of these, i32; null where it has all of them
  Value firstOwn;    // the first of its columns that it writes, i32; null: all of them
  Value keyPart;     // which part of the keys the block has, i32; null: all
  Axes leading;

  /// How many there are; i32.
  Value queries() const { return queryCount ? queryCount : b.i32(shape.attention.queries); }
  Value keys() const { return keyCount ? keyCount : b.i32(shape.attention.keys); }
  /// How many rows of a table there are, i32: at most `most`.
  Value rowsOf(const std::optional<subscript::Expr> &length, int64_t most) const {
    return length ? b.toI32(operands.index(*length, leading)) : b.i32(most);
  }
  /// One of the thread's queries; i32.
  Value query(size_t number) const { return scores.rowFrom(threadRow, number); }
  /// Axes of the thread's queries are needed from here on.
  void findQueryAxes();
  /// The leading axes and those of one of the thread's queries; with those of a key.
  Axes axesOfQuery(size_t number) const;
  Axes axesAt(size_t number, Value key) const;
  /// Axes of each of the thread's scores.
  std::vector<Axes> axesOfTile(Value firstKey) const;
  /// The place of the leading axes among all of them, one behind the other; i64.
  Value leadingIndex() const;
  /// i64
  Value baseOf(const subscript::Expr &expression) const { return b.toI64(operands.index(expression, leading)); }

  /// Rows of an operand: queries, or keys and what is walked like them.
  RowSource queriesOf(const Walk &walk, int64_t depth) const { return sourceOf(walk, walk.query, depth); }
  RowSource keysOf(const Walk &walk, int64_t depth) const { return sourceOf(walk, walk.key, depth); }
  /// Those of the tile of keys that begins at `firstKey`: where keys pick their rows, a table is read for that, once
  /// where the tile is in one page, else for each row.
  RowSource inTile(const RowSource &, Value firstKey) const;
  /// The block's columns of values, or of what is added to them.
  RowSource columnsOf(const Walk &) const;

  /// The scores of a tile that a thread holds.
  ScoreLayout scores;

private:
  void readRows(Value &rest);
  void readColumns(Value &rest);
  void readKeyPart(Value &rest);
  Value pickedRow(const Walk &, Value key) const;
  RowSource sourceOf(const Walk &, int64_t rowStride, int64_t depth) const;
  bool isAligned(const Walk &, int64_t rowStride, int64_t depth) const;
  Axes axesOf(Value position, const std::vector<std::string> &names, const std::vector<MapAxis> &) const;

  GpuBuilder &b;
  const GpuAttention &shape;
  Operands &operands;
  std::vector<Axes> queryAxes;
  Value queryCount, keyCount; // null where they are known at compile time
};

} // namespace skewer::gpu
