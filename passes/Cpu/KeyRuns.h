// The keys that a block of rows sees under a mask that is known at compile time: runs of tiles that some row of the
// block sees. CpuKernel goes through the runs with tables that are constants of the compiled object.
#pragma once
#include "passes/Analysis/TileTables.h"
#include "passes/Cpu/Geometry.h"
#include "passes/Cpu/LiveKeys.h"
#include "passes/Cpu/Positions.h"

namespace skewer {
/// Returns the lanes that are set in the pattern of `state`, for one vector of one row of a tile.
mlir::Value lanesOfPattern(VectorBuilder &, const Geometry &, const TileTables &, mlir::Value state, int64_t row,
                           int64_t vector);

class KeyRuns {
public:
  KeyRuns(VectorBuilder &, const AttentionShape &, const Geometry &, Positions &);

  /// Returns whether some block of rows has several runs.
  bool areMany() const { return tables.mostRuns > 1; }
  /// Calls `body` for each run of the block of rows that begins at `firstRow`, with the first vector of the run and the
  /// one behind its last.
  void forEach(mlir::Value firstRow, const std::function<void(mlir::Value, mlir::Value)> &body);

  //===- Within a run -----------------------------------------------------------------===//
  /// Returns the range of keys that a group of rows sees.
  KeyRange keysOf(mlir::Value group);
  /// Returns the state of the tile that begins with `vector`, a number of TileTables: what the group sees of the tile.
  mlir::Value stateOf(mlir::Value group, mlir::Value vector);
  mlir::Value isSeen(mlir::Value state) { return b.less(b.index(TileTables::kHole), state); }
  mlir::Value isHole(mlir::Value state);
  mlir::Value isEdge(mlir::Value state) { return b.less(b.index(TileTables::kFull), state); }
  /// Returns which keys of a vector are seen, by the pattern of `state`.
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
