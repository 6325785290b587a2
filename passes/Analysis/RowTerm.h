// Terms that multiply a vector of the query (or of the key) by a row of a table, where a function of both positions
// picks the row: clamped and bucketed offsets, windows, rational steps between maps, rows by run-time indices.
#pragma once
#include "dialect/IR/Term.h"
#include "passes/Analysis/Walk.h"

namespace skewer {

/// The row for each offset key - query, for rows that depend on nothing else.
struct OffsetRows {
  int64_t low = 0;           // smaller offsets have the row of this one
  std::vector<int64_t> rows; // rows of the offsets from `low` on; larger offsets have the last row; -1: no row

  int64_t high() const { return low + static_cast<int64_t>(rows.size()) - 1; }
  int64_t at(int64_t offset) const;
  bool hasNone() const;
  /// Returns whether the rows that are not -1 only rise or only fall (equal neighbours are allowed).
  bool isMonotone() const;
};

enum class RowKind {
  Linear, // ±(an axis of the key - an axis of the query) + a constant, of the queries' vectors: see LinearRow
  Offset, // another function of key - query of whole positions alone
  Axis,   // depends on one axis of a key map and any query axes; key side: on one axis of a query map and any key axes
  Any     // anything else: the row is found for each query and key
};

/// row = sign * (key axis - query axis) + constant + shift.
struct LinearRow {
  std::string query, key; // names of the axes
  MapAxis queryAxis, keyAxis;
  int64_t sign = 1, constant = 0;
  subscript::Expr shift; // known at run time: the position at which a part begins

  /// Returns whether both axes are whole positions, not axes of a map.
  bool isWhole(int64_t queries, int64_t keys) const { return queryAxis.isWhole(queries) && keyAxis.isWhole(keys); }
};

/// The row as a function of the query and one axis of a map of run-time width (LengthMap.h); expressions over the axes
/// of the map.
struct RowOnMap {
  subscript::Expr row;
  std::optional<subscript::Expr> guard;
  bool ofRow = false; // whether the function uses the key's row; else its column
};

/// q_i · R[row] or k_j · R[row]; 0 where the guard does not hold.
struct RowTerm {
  bool keySide = false;
  Walk vector;               // walk of the query's or the key's vectors
  unsigned table = 0;        // argument
  subscript::Expr tableBase; // over the leading axes
  int64_t rowStride = 0, depthStride = 0, rows = 0, depth = 1;
  std::optional<subscript::Expr> rowLength; // number of rows that exist, if known only at run time
  std::vector<std::string> tableAxes;       // leading axes on which the table's base depends
  subscript::Expr row;                      // over all axes; not Linear
  std::optional<subscript::Expr> guard;
  ElementType element = {}; // of the vectors and of the table; f32 if they have different ones
  double scale = 1;
  uint64_t sum = 0; // number of the sum that the term is part of; the score is a function of these sums

  RowKind kind = RowKind::Any;
  LinearRow linear;                 // Linear
  OffsetRows offsets;               // Offset
  std::optional<RowOnMap> onMap;    // Any: set if one axis of the keys' map picks the row
  size_t axis = 0;                  // Axis: its place in the space's key axes (query side) or query axes
  int64_t firstRow = 0, endRow = 0; // rows outside of [firstRow, endRow) are never picked
};

/// Sets `kind` and the fields that belong to it. Returns false if the term is better evaluated element by element,
/// because it has too many rows to pay off or positions beyond 32 bits.
bool findRowKind(RowTerm &, const attn::ScoreSpace &);
/// Returns whether the row can be found for each query and key, whatever its kind: the number of rows pays off, and no
/// position is beyond 32 bits.
bool mayPickAnyRow(const RowTerm &, const attn::ScoreSpace &);

} // namespace skewer
