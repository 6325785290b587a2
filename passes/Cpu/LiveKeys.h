// The keys that are computed: those that some row may see. The mask limits them by key - query, for all queries of a
// head, and for a block of rows.
#pragma once
#include "passes/Cpu/Geometry.h"
#include "passes/Cpu/Positions.h"

namespace skewer {

/// The keys [low, high); null: no range is given.
struct KeyRange {
  mlir::Value low, high;
  explicit operator bool() const { return bool(low); }
};

class LiveKeys {
public:
  LiveKeys(VectorBuilder &b, const AttentionShape &shape, const Geometry &geometry, Positions &positions)
      : b(b), shape(shape), geometry(geometry), positions(positions) {}

  /// Return the lowest and the highest visible key - query. The interval must be bounded on that side.
  mlir::Value lowestVisible();
  mlir::Value highestVisible();
  /// Returns the keys in [low, high) that some of `rows` rows from `firstRow` on may see, without those of the prefix.
  std::pair<mlir::Value, mlir::Value> of(mlir::Value firstRow, int64_t rows, mlir::Value low, mlir::Value high);
  /// Returns the end of the prefix, the keys from `lowKey` on that rows see although their interval begins later;
  /// `lowKey` if there are none before `high`.
  mlir::Value prefixEnd(mlir::Value lowKey, mlir::Value high);
  /// Returns whether some of the keys in [key, end) are in `live`, a result of `of`, or in the prefix.
  mlir::Value meets(std::pair<mlir::Value, mlir::Value> live, mlir::Value lowKey, mlir::Value key, mlir::Value end);
  /// Returns whether the live keys may begin at any key, not only at the first key of a block.
  bool beginsAnywhere() const {
    return shape.visible || shape.prefix || shape.bounds.low || isHeadRestricted || ofBlock || shape.bounds.tiles;
  }
  /// Returns whether there may be keys that no row of a group sees.
  bool isLimited() const { return shape.visible || ofHead || ofBlock || shape.bounds.tiles; }

  /// Begins a head: sets `ofHead` to the bounds that the mask gives for all its queries.
  void enterHead();
  /// Restricts `ofHead` further: no query of the head sees keys outside this range.
  void restrictHead(KeyRange);

  KeyRange ofHead;  // keys outside are masked for all queries of this head; null without such a mask
  KeyRange ofBlock; // keys outside are seen by no row of the block; null without such masks

private:
  bool isHeadRestricted = false;
  VectorBuilder &b;
  const AttentionShape &shape;
  const Geometry &geometry;
  Positions &positions;
};

} // namespace skewer
