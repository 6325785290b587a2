// What a schedule costs, by the cost model: arithmetic done, tiles that a mask leaves, time. `explain` prints it.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Schedule/ChosenStrategies.h"
#include "passes/Schedule/CostModel.h"

namespace skewer {

/// The sizes of an attention that the cost model asks for: its own, and what its strategies add to them.
AttentionSizes sizesOf(const AttentionShape &, const ChosenStrategies &);

/// What the two ways to compute an offset term cost; nothing where only one is possible.
std::optional<OffsetCost> offsetCostOf(const AttentionShape &, const Target &);

/// Tiles of a score: `tileRows` queries by `tileKeys` keys.
struct TileCounts {
  int64_t dead = 0;    // no query sees a key
  int64_t edge = 0;    // some see some
  int64_t full = 0;    // all see all
  int64_t skipped = 0; // of the dead ones, those that are not computed: outside an interval of key - query
};
/// Nothing where the mask depends on more than positions, or the score has over 2^24 elements and the mask is no
/// interval. Without a mask every tile is full.
std::optional<TileCounts> countTiles(const AttentionShape &, int64_t tileRows, int64_t tileKeys);

/// Of one leading index (a head of one batch row), on one core.
struct PredictedWork {
  double matmulFlops = 0; // contents, windows of tables and values, as tiles do them: rounded up to whole vectors
  double cycles = 0;
};
/// For strategies and a blocking as a schedule states them: what the skeleton does, and what the strategies say that
/// they do.
PredictedWork predictWork(const AttentionShape &, const ChosenStrategies &, const Blocking &, const Target &);

/// Blocks of keys that a block of queries meets, and blocks of queries, at least one: for strategies.
double keyBlocksOf(const AttentionShape &, const TileSizes &);
double rowBlocksOf(const AttentionShape &, const TileSizes &);

} // namespace skewer
