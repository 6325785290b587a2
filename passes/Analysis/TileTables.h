// Tables of live tiles for a kernel with given tiles and blocks: for each row block, the runs of keys that some row
// sees, and for each row group of the block, which pairs of each tile in a run it sees. CPU kernels contain the tables
// as constants; the cost model uses the average share of live tiles (shareOf).
#pragma once
#include "passes/Analysis/LiveTiles.h"

namespace skewer {

/// Sizes of tiles and blocks, in queries, vectors and keys.
struct TileShape {
  int64_t lanes, tileRows, tileVectors, rowBlock, keyBlock;
  int64_t panel() const { return tileVectors * lanes; }
};

/// The states of all tiles of `rows` rows and `keys` keys.
class TileMap {
public:
  TileMap(const LiveTiles &, int64_t rows, int64_t keys);
  int64_t groups, panels; // row groups and key panels of a variant
  LiveTiles::State at(int64_t variant, int64_t group, int64_t panel) const {
    return states[(variant * groups + group) * panels + panel];
  }

  const std::vector<LiveTiles::State> &all() const { return states; }

private:
  std::vector<LiveTiles::State> states;
};

/// The average share of the work that remains with given blocks.
struct TileShare {
  double scores = 1, keys = 1; // share of the tiles that are computed; share of the keys whose values a row group adds
  double runs = 1;             // runs of a row block
};
TileShare shareOf(const LiveTiles &, const TileMap &, const TileShape &);

struct TileTables {
  static constexpr int32_t kOutside = 0, kHole = 1, kFull = 2, kFirstPattern = 3;

  int64_t rowBlocks = 0, groups = 0; // row blocks of a variant; row groups of a row block
  int64_t mostRuns = 0;              // most runs of a row block
  std::vector<int32_t> firstRun;     // [variant][row block], and one more
  std::vector<int32_t> runs;         // [run][3]: first vector, vector behind the last, place of the run's description
  /// Descriptions of runs; equal runs share one. A description holds, for each group, the first key that the group sees
  /// and the key behind the last one, counted from the first key of the run. Then it holds the state of the tile of
  /// each panel and group: no pair is seen and its keys are not computed (kOutside), no pair is seen among keys that
  /// are computed (kHole), all pairs are seen (kFull), or the number of a pattern.
  std::vector<int32_t> descriptions;
  std::vector<int32_t> patterns; // [pattern][row][vector]: a bit for each lane
};
TileTables tablesOf(const LiveTiles &, const TileShape &);

} // namespace skewer
