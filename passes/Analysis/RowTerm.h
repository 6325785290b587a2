// Terms in which a vector of the query (or of the key) meets a row of a table that a function of both positions picks:
// clamped and bucketed offsets, windows, rational steps between maps, rows by run-time indices.
#pragma once
#include "dialect/IR/Term.h"
#include "passes/Analysis/Walk.h"

namespace skewer {

/// The row for each key - query, where it depends on nothing else.
struct OffsetRows {
  int64_t low = 0;           // offsets below have the row of this one …
  std::vector<int64_t> rows; // … offsets from `low` on; behind the last one its row. -1: nothing is added

  int64_t high() const { return low + static_cast<int64_t>(rows.size()) - 1; }
  int64_t at(int64_t offset) const;
  bool hasNone() const;
  /// Whether the rows that are not -1 never turn back, up or down.
  bool isMonotone() const;
};

enum class RowKind {
  Offset, // of key - query alone, whole positions
  Axis,   // query side: of one axis of a key map and any of the query; key side: of one axis of a query map, any key
  Any     // anything else: the row is found for each query and key
};

/// The row as a function of the query and one axis of a map of run-time width (LengthMap.h), over the map's axes.
struct RowOnMap {
  subscript::Expr row;
  std::optional<subscript::Expr> guard;
  bool ofRow = false; // of the key's row, else of its column
};

/// q_i · R[row] or k_j · R[row]; 0 where the guard is not.
struct RowTerm {
  bool keySide = false;
  Walk vector;               // of the query's or the key's vectors
  unsigned table = 0;        // argument
  subscript::Expr tableBase; // over the leading axes
  int64_t rowStride = 0, depthStride = 0, rows = 0, depth = 1;
  std::optional<subscript::Expr> rowLength; // so many of the rows are there, where that is known at run time
  std::vector<std::string> tableAxes; // leading axes on which the table's base depends
  subscript::Expr row;                // over all axes
  std::optional<subscript::Expr> guard;
  double scale = 1;
  uint64_t sum = 0; // of those that the score is a function of

  RowKind kind = RowKind::Any;
  OffsetRows offsets;               // Offset
  std::optional<RowOnMap> onMap;    // Any: where one axis of the keys' map picks the row
  size_t axis = 0;                  // Axis: its place in the space's key (query side) or query axes
  int64_t firstRow = 0, endRow = 0; // rows outside are never picked
};

/// Finds `kind` and what belongs to it. False where the term is better left to be evaluated element by element: more
/// rows than pay, or positions beyond 32 bits.
bool findRowKind(RowTerm &, const attn::ScoreSpace &);
/// Whether the row may be found for each query and key, whatever its kind: there are not more rows than pay, and no
/// position is beyond 32 bits.
bool mayPickAnyRow(const RowTerm &, const attn::ScoreSpace &);

} // namespace skewer
