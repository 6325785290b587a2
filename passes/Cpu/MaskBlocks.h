// Finds blocks of a map in which each block of queries sees only the keys in and around it, for attn-split-blocks.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// Blocks along one query axis. Block n sees only the `keys` positions of one key axis that start at step*n + first.
struct BlockAxis {
  std::string query, key;
  int64_t step, first, keys;
  int64_t count; // of blocks
  /// Queries per block, if the axis counts queries; the last block may have fewer. 0: the axis is the block number.
  int64_t rows;

  bool countsQueries() const { return rows > 0; }
  /// Returns the number of queries along the axis if all blocks are full.
  int64_t padded() const { return countsQueries() ? count * rows : count; }
};

/// Returns the blocks of the mask, at most one for each query axis and each key axis. Returns none if the blocks see so
/// much of the map that the whole map is faster.
std::vector<BlockAxis> blocksOf(const subscript::Expr &mask, const attn::ScoreSpace &);

/// Returns the first and the last key that each block of `rows` queries sees along the two axes by these conjuncts;
/// nothing if a block sees none.
std::vector<subscript::Range> keysOfBlocks(llvm::ArrayRef<subscript::Expr> conjuncts, const std::string &query,
                                           const std::string &key, int64_t rows, const subscript::AxisSizes &);

} // namespace skewer
