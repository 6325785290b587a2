// Which keys are computed: those that some row may see, by what the mask says of differences, of keys, and of a block.
#pragma once
#include "passes/Cpu/Geometry.h"
#include "passes/Cpu/Positions.h"

namespace skewer {

/// Keys from `low` on, before `high`.
struct KeyRange {
  mlir::Value low, high;
  explicit operator bool() const { return bool(low); }
};

class LiveKeys {
public:
  LiveKeys(VectorBuilder &b, const AttentionShape &shape, const Geometry &geometry, Positions &positions)
      : b(b), shape(shape), geometry(geometry), positions(positions) {}

  /// key - query of an interval that is not open there.
  mlir::Value lowestVisible();
  mlir::Value highestVisible();
  /// The keys in [low, high) that some row of [firstRow, firstRow + rows) may see.
  std::pair<mlir::Value, mlir::Value> of(mlir::Value firstRow, int64_t rows, mlir::Value low, mlir::Value high);
  /// Where the keys from `lowKey` on end that rows see although their interval begins later; at `lowKey` if there are
  /// none before `high`.
  mlir::Value prefixEnd(mlir::Value lowKey, mlir::Value high);
  /// Whether some of the keys in [key, end) are among `live`, as `of` says, or in the prefix.
  mlir::Value meets(std::pair<mlir::Value, mlir::Value> live, mlir::Value lowKey, mlir::Value key, mlir::Value end);
  /// Whether the first of them may be any, and not the first one of a block alone.
  bool beginsAnywhere() const {
    return shape.visible || shape.prefix || shape.bounds.low || isHeadRestricted || ofBlock || shape.bounds.tiles;
  }
  /// Whether there may be keys that no row of a group sees.
  bool isLimited() const { return shape.visible || ofHead || ofBlock || shape.bounds.tiles; }

  /// Begins a head: what the mask says of all its queries' keys.
  void enterHead();
  /// No query of the head sees keys outside of these either.
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
