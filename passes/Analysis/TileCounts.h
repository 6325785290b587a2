// The numbers of tiles of a score that a mask hides, cuts or leaves whole. Cost models and `explain` ask for them.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer {

/// Dead: no query of the tile sees a key. Edge: some queries see some keys. Full: all queries see all keys.
using TileState = LiveTiles::State;

/// Numbers of tiles of a score, `tileRows` queries by `tileKeys` keys.
struct TileCounts {
  int64_t dead = 0, edge = 0, full = 0;
  int64_t skipped = 0; // dead tiles that are not computed, since they are outside an interval of key - query
  int64_t &of(TileState state) { return state == TileState::Dead ? dead : state == TileState::Edge ? edge : full; }
};
/// Counts the tiles of a score. Returns nothing if the mask depends on more than positions, or if the score has over
/// 2^24 elements and the mask is not an interval. Without a mask every tile is full. Calls `each`, if given, with the
/// first query, the first key and the state of every tile. If masks differ from head to head, these are the tiles of
/// one head.
std::optional<TileCounts> countTiles(const AttentionShape &, int64_t tileRows, int64_t tileKeys,
                                     llvm::function_ref<void(int64_t, int64_t, TileState)> each = nullptr);

/// Returns the keys that some query of [first, first + rows) sees by the interval of the mask alone.
subscript::Range keysInInterval(const AttentionShape &, int64_t first, int64_t rows);

} // namespace skewer
