// Predicts the cost of a schedule by the cost model: arithmetic, tiles that a mask leaves, and time. `explain` prints
// it.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Schedule/ChosenStrategies.h"
#include "passes/Schedule/CostModel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer {

/// Returns the sizes of an attention that the cost model needs: its own sizes, with the additions of its strategies.
AttentionSizes sizesOf(const AttentionShape &, const ChosenStrategies &);

/// Numbers of tiles of a score, `tileRows` queries by `tileKeys` keys.
struct TileCounts {
  int64_t dead = 0;    // no query sees a key
  int64_t edge = 0;    // some queries see some keys
  int64_t full = 0;    // all queries see all keys
  int64_t skipped = 0; // dead tiles that are not computed, since they are outside an interval of key - query
};
enum class TileState { Dead, Edge, Full };
/// Counts the tiles of a score. Returns nothing if the mask depends on more than positions, or if the score has over
/// 2^24 elements and the mask is not an interval. Without a mask every tile is full. Calls `each`, if given, with the
/// first query, the first key and the state of every tile. If masks differ from head to head, these are the tiles of
/// one head.
std::optional<TileCounts> countTiles(const AttentionShape &, int64_t tileRows, int64_t tileKeys,
                                     llvm::function_ref<void(int64_t, int64_t, TileState)> each = nullptr);

/// The predicted work of one leading index (a head of one batch row), on one core.
struct PredictedWork {
  double matmulFlops = 0; // products for content, table windows and values, rounded up to whole vectors as in tiles
  double cycles = 0;
};
/// Predicts the work for the strategies and the blocking of a schedule: the work of the common loops, and the work that
/// the strategies report.
PredictedWork predictWork(const AttentionShape &, const ChosenStrategies &, const Blocking &, const Target &);

/// Returns the predicted cycles, in the best blocks for the strategies.
double predictedCycles(const AttentionShape &, const ChosenStrategies &, const Target &);

/// Return the number of key blocks for each block of queries, and the number of query blocks; at least one. Strategies
/// use them.
double keyBlocksOf(const AttentionShape &, const TileSizes &);
double rowBlocksOf(const AttentionShape &, const TileSizes &);

} // namespace skewer
