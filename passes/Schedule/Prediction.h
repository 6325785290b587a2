// What a schedule costs, by the cost model: arithmetic done, tiles that a mask leaves, time. `explain` prints it.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Schedule/ChosenStrategies.h"
#include "passes/Schedule/CostModel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer {

/// The sizes of an attention that the cost model asks for: its own, and what its strategies add to them.
AttentionSizes sizesOf(const AttentionShape &, const ChosenStrategies &);

/// Tiles of a score: `tileRows` queries by `tileKeys` keys.
struct TileCounts {
  int64_t dead = 0;    // no query sees a key
  int64_t edge = 0;    // some see some
  int64_t full = 0;    // all see all
  int64_t skipped = 0; // of the dead ones, those that are not computed: outside an interval of key - query
};
enum class TileState { Dead, Edge, Full };
/// Nothing where the mask depends on more than positions, or the score has over 2^24 elements and the mask is no
/// interval. Without a mask every tile is full.
/// `each`, if given, is told the state of every tile, by its first query and key; of masks that differ from head to
/// head those of one head.
std::optional<TileCounts> countTiles(const AttentionShape &, int64_t tileRows, int64_t tileKeys,
                                     llvm::function_ref<void(int64_t, int64_t, TileState)> each = nullptr);

/// Of one leading index (a head of one batch row), on one core.
struct PredictedWork {
  double matmulFlops = 0; // contents, windows of tables and values, as tiles do them: rounded up to whole vectors
  double cycles = 0;
};
/// For strategies and a blocking as a schedule states them: what the skeleton does, and what the strategies say that
/// they do.
PredictedWork predictWork(const AttentionShape &, const ChosenStrategies &, const Blocking &, const Target &);

/// The cycles, in the blocks that suit the strategies best.
double predictedCycles(const AttentionShape &, const ChosenStrategies &, const Target &);

/// Blocks of keys that a block of queries meets, and blocks of queries, at least one: for strategies.
double keyBlocksOf(const AttentionShape &, const TileSizes &);
double rowBlocksOf(const AttentionShape &, const TileSizes &);

} // namespace skewer
