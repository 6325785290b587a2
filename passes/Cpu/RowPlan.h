// What the terms whose table rows are picked by positions hold while a kernel is emitted.
#pragma once
#include "mlir/IR/Value.h"
#include "passes/Analysis/RowTerm.h"
#include "passes/Emit/Buffer.h"

namespace skewer {

/// One for each of AttentionShape::rows; QueryRows.cpp, OffsetLines.cpp, KeyRows.cpp and KeyDiagonals.cpp say how it is
/// used.
struct RowPlan {
  // The table, packed once a call in the shared workspace, one copy for each tuple of RowTerm::tableAxes. Query side:
  // panels of `lanes` rows × depth. Key side: rows × depth, with the scale in them.
  Buffer table;
  int64_t copies = 1, copyFloats = 0, items = 0; // items: panels or rows of a copy
  double factor = 1;                             // table entries are multiplied by this
  // The query's or key's vectors: the content's packed ones from this depth on, else packed for the term.
  int64_t vectorOffset = 0;
  bool ownVectors = true;
  Buffer vectors;
  int64_t chunk = 1; // steps of the depth that are summed up by themselves
  bool compensated = false;
  // Products of vectors and rows. Query side: of a group (RowKind::Any: of a block) of queries × rows. Key side: rows ×
  // the keys of a tile.
  Buffer products;
  int64_t productStride = 0;
  // Query side, Offset and Axis: a line for each query of a block. Key side, Axis: a line over keys for each value of
  // the query axis.
  Buffer lines;
  int64_t lineStride = 0;
  // Offset, query side: the line begins with offset `origin` and has `lineVectors` vectors, of which a block of keys
  // needs some. `onceABlock`: all of them are filled, for all blocks of keys.
  int64_t origin = 0, lineVectors = 0;
  bool onceABlock = false;
  // Offset, key side: the packed table has a row for each offset of RowTerm::offsets, instead of its own rows.
  bool byOffset = false;

  mlir::Value tableBuffer, vectorsBuffer, productsBuffer, linesBuffer; // while emitting a phase
};

} // namespace skewer
