// The blocks and tiles of scores through which a kernel goes.
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <vector>

namespace skewer {

/// Runs of the vectors of keys that a group of rows sees in a block: the first vector of each, and its end.
using VectorRuns = llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>>;

/// A block of query rows that are computed together: `rows` of them from position `firstRow` on, in `groups` groups. A
/// group has as many rows as a register tile.
struct RowBlock {
  mlir::Value firstRow, rows, groups;
  mlir::Value isSecond = {}; // i1: this is the second pass over its keys, with smaller weights; null: there is none
};
/// A block of rows and the keys [lowKey, highKey) that it meets.
struct KeyBlock : RowBlock {
  mlir::Value lowKey, highKey;
};
/// The scores of a run of keys: by a row of the block, the number of a vector of keys, and the number of vectors.
using ScoresOfRow =
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value row, mlir::Value vector, int64_t count)>;

/// A register tile of scores: a group of rows × `vectors` vectors of keys from `key` on. Terms may also be added to
/// single rows of a group.
struct ScoreTile {
  mlir::Value firstRow, lowKey; // of the blocks
  mlir::Value group, row;       // the tile's first row, within the block
  mlir::Value position, key;    // its first query and key
  mlir::Value vector;           // key / lanes
  int64_t vectors;
  bool last;                                // the last vector may have lanes behind the last key
  llvm::SmallVectorImpl<mlir::Value> &sums; // [tileRows][vectors]
  bool isRow = false;                       // only the first row counts: the tile stands for one row of its group

  /// Returns the rows that count.
  int64_t rows() const { return isRow ? 1 : int64_t(sums.size()) / vectors; }
};
/// A group of rows whose weights have replaced their scores, for the keys [low, high) of a block.
struct WeightedRows {
  mlir::Value group, firstRow, lowKey, low, high;
};

class CpuStrategy;
/// The strategies of a kernel, in the order in which they add to the scores.
using CpuStrategies = std::vector<std::unique_ptr<CpuStrategy>>;

} // namespace skewer
