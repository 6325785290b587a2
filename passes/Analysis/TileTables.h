// Live tiles as a kernel of given tiles and blocks goes through them: for each block of rows the runs of keys that some
// row sees, and what its groups of rows see of each tile there.
#pragma once
#include "passes/Analysis/LiveTiles.h"

namespace skewer {

/// Tiles and blocks, in queries, vectors and keys.
struct TileShape {
  int64_t lanes, tileRows, tileVectors, rowBlock, keyBlock;
  int64_t panel() const { return tileVectors * lanes; }
};

/// The states of all tiles of so many rows and keys.
class TileMap {
public:
  TileMap(const LiveTiles &, int64_t rows, int64_t keys);
  int64_t groups, panels; // of a variant
  LiveTiles::State at(int64_t variant, int64_t group, int64_t panel) const {
    return states[(variant * groups + group) * panels + panel];
  }

  const std::vector<LiveTiles::State> &all() const { return states; }

private:
  std::vector<LiveTiles::State> states;
};

/// What a blocking makes of them, on the average.
struct TileShare {
  double scores = 1, keys = 1; // of all tiles, those that are computed; of all keys, those whose values groups add up
  double runs = 1;             // of a block of rows
};
TileShare shareOf(const LiveTiles &, const TileMap &, const TileShape &);

struct TileTables {
  static constexpr int32_t kOutside = 0, kHole = 1, kFull = 2, kFirstPattern = 3;

  int64_t rowBlocks = 0, groups = 0; // of a variant; of a block of rows
  int64_t mostRuns = 0;              // of a block of rows
  std::vector<int32_t> firstRun;     // [variant][row block], and one more
  std::vector<int32_t> runs;         // [run][3]: first vector, the vector behind the last, place of its description
  /// Of a run, descriptions of equal ones being one: for each group the first key and the key behind the last one that
  /// it sees, from the run's first key on; then for each panel and group what is seen of the tile: none, for keys that
  /// are not computed or among those that are, all, or a pattern.
  std::vector<int32_t> descriptions;
  std::vector<int32_t> patterns; // [pattern][row][vector]: a bit for each lane
};
TileTables tablesOf(const LiveTiles &, const TileShape &);

} // namespace skewer
