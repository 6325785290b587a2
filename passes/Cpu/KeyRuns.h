// The keys of a block of rows where a mask is known at compile time: runs of tiles that some of its rows see, one after
// the other, by tables in the object.
#pragma once
#include "passes/Analysis/TileTables.h"
#include "passes/Cpu/Geometry.h"
#include "passes/Cpu/LiveKeys.h"
#include "passes/Cpu/Positions.h"

namespace skewer {
/// Which lanes of a vector of a tile's row are set in the pattern that a state names.
mlir::Value lanesOfPattern(VectorBuilder &, const Geometry &, const TileTables &, mlir::Value state, int64_t row,
                           int64_t vector);

class KeyRuns {
public:
  KeyRuns(VectorBuilder &, const AttentionShape &, const Geometry &, Positions &);

  /// Whether some block of rows has several.
  bool areMany() const { return tables.mostRuns > 1; }
  /// Calls `body` for each run of the block of rows that begins there: its first vector, and the one behind its last.
  void forEach(mlir::Value firstRow, const std::function<void(mlir::Value, mlir::Value)> &body);

  //===- Within a run -----------------------------------------------------------------===//
  /// The first and the last key that a group of rows sees.
  KeyRange keysOf(mlir::Value group);
  /// What a group sees of the tile that begins with a vector: a number of TileTables.
  mlir::Value stateOf(mlir::Value group, mlir::Value vector);
  mlir::Value isSeen(mlir::Value state) { return b.less(b.index(TileTables::kHole), state); }
  mlir::Value isHole(mlir::Value state);
  mlir::Value isEdge(mlir::Value state) { return b.less(b.index(TileTables::kFull), state); }
  /// Whether each key of a vector is seen, by the pattern that a state names.
  mlir::Value seenLanes(mlir::Value state, int64_t row, int64_t vector);

private:
  VectorBuilder &b;
  const AttentionShape &shape;
  const Geometry &geometry;
  Positions &positions;
  TileTables tables;
  mlir::Value firstVector, description; // of the run
};

} // namespace skewer
