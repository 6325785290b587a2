// Blocks of a map that a mask leaves the keys in and around them.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// Blocks along one axis of queries: block n sees keys of one axis only from step*n + first on, `keys` of them.
struct BlockAxis {
  std::string query, key;
  int64_t step, first, keys;
  int64_t count; // of blocks
  /// Queries of a block, where the axis counts those; the last block may have fewer. 0: the axis is the block's number.
  int64_t rows;

  bool countsQueries() const { return rows > 0; }
  /// Queries along the axis once all blocks are whole.
  int64_t padded() const { return countsQueries() ? count * rows : count; }
};

/// The blocks of the mask, at most one for each axis of queries and of keys. None where they see so much of the map
/// that it is better left whole.
std::vector<BlockAxis> blocksOf(const subscript::Expr &mask, const attn::ScoreSpace &);

} // namespace skewer
