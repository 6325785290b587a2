// The work of a block and of its threads: which queries, which columns of the values and which leading index (batch,
// head) they have, and the values of the axes at their positions.
#pragma once
#include "passes/Gpu/Operands.h"
#include "passes/Gpu/Pipeline.h"
#include "passes/Gpu/ScoreLayout.h"

namespace skewer::gpu {

/// Returns the leading axes of the leading index with this number (index).
Axes leadingAxes(GpuBuilder &, Operands &, const GpuAttention &, Value number);

/// Returns whether every value of the expression is a multiple of `number`, by its form alone.
bool isMultiple(const subscript::Expr &, int64_t number);

class BlockPlace {
public:
  BlockPlace(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const ThreadPlace &at);

  Value row;         // first query of the block
  Value threadRow;   // first query of the thread
  int64_t columns;   // number of columns of the values that the block has
  Value firstColumn; // its first column, i32; null if the block has all columns
  // First column that the block writes, counted from `firstColumn`, i32; null if it writes all its columns.
  Value firstOwn;
  Value keyPart; // the part of the keys that the block has, i32; null: all keys
  Axes leading;

  /// Returns the number of queries, or of keys; i32.
  Value queries() const { return queryCount ? queryCount : b.i32(shape.attention.queries); }
  Value keys() const { return keyCount ? keyCount : b.i32(shape.attention.keys); }
  /// Returns the number of rows of a table, i32: at most `most`.
  Value rowsOf(const std::optional<subscript::Expr> &length, int64_t most) const {
    return length ? b.toI32(operands.index(*length, leading)) : b.i32(most);
  }
  /// Returns the position of one of the thread's queries; i32.
  Value query(size_t number) const { return scores.rowFrom(threadRow, number); }
  /// Computes the axes of the thread's queries; must be called before the next functions.
  void findQueryAxes();
  /// Returns the leading axes and the axes of one of the thread's queries; `axesAt` adds the axes of a key.
  Axes axesOfQuery(size_t number) const;
  Axes axesAt(size_t number, Value key) const;
  /// Returns the axes of each of the thread's scores.
  std::vector<Axes> axesOfTile(Value firstKey) const;
  /// Returns the flat index of the block's leading axes, in row-major order; i64.
  Value leadingIndex() const;
  /// Evaluates an expression over the leading axes; i64.
  Value baseOf(const subscript::Expr &expression) const { return b.toI64(operands.index(expression, leading)); }

  /// Returns the rows of an operand that is walked by queries, or by keys.
  RowSource queriesOf(const Walk &walk, int64_t depth) const { return sourceOf(walk, walk.query, depth); }
  RowSource keysOf(const Walk &walk, int64_t depth) const { return sourceOf(walk, walk.key, depth); }
  /// Returns the source for the tile of keys that begins at `firstKey`. If keys pick their rows, it reads a table for
  /// that: once if the tile is in one page, else for each row.
  RowSource inTile(const RowSource &, Value firstKey) const;
  /// Returns the source of the block's columns of the values, or of rows that are added to the values.
  RowSource columnsOf(const Walk &) const;

  /// Layout of the scores of a tile that a thread holds.
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
