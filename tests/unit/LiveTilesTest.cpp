// Compares the tiles that a constant mask leaves, and their tables, with the mask's pairs one by one.
#include "AttentionTesting.h"
#include "passes/Analysis/GuardTiles.h"

using namespace skewer;
using namespace skewer::testing;
using namespace skewer::subscript;

namespace {

AttentionText masked(const std::string &mask, int64_t queries, int64_t keys) {
  AttentionText text;
  std::string q = std::to_string(queries), k = std::to_string(keys);
  text.mask = " where \"" + mask + "\"";
  text.valueShape = "2x" + k + "x8", text.resultShape = "2x" + q + "x8";
  text.score = {{"h i d, h j d", {"2x" + q + "x8", "2x" + k + "x8"}}};
  return text;
}

/// Returns the tiles of a mask by evaluating it at every pair.
class Pairs {
public:
  Pairs(const std::string &mask, int64_t queries, int64_t keys) : keys(keys) {
    Expr predicate = *parse(std::string_view(mask));
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t j = 0; j < keys; ++j)
          seen.push_back(*evaluate(predicate, {{"h", h}, {"i", i}, {"j", j}}) != 0);
    this->queries = queries;
  }
  bool at(int64_t h, int64_t i, int64_t j) const { return seen[(h * queries + i) * keys + j]; }
  LiveTiles::State stateOf(int64_t h, int64_t query, int64_t rows, int64_t key, int64_t count) const {
    bool any = false, all = true;
    for (int64_t i = query; i < std::min(query + rows, queries); ++i)
      for (int64_t j = key; j < std::min(key + count, keys); ++j)
        (at(h, i, j) ? any : all) = at(h, i, j);
    return !any ? LiveTiles::State::Dead : all ? LiveTiles::State::Full : LiveTiles::State::Edge;
  }

private:
  std::vector<bool> seen;
  int64_t queries = 0, keys;
};

const char *const kMasks[] = {
    "abs(i - j) <= 20 or i < 3 or j < 3",
    "i floordiv 64 == 0 or j floordiv 64 == 0 or abs(i floordiv 64 - j floordiv 64) <= 1",
    "(i floordiv 32 * 7 + 3) mod 11 == j floordiv 32",
    "j <= i and (i - j < 40 or j mod 128 == 5)",
    "i floordiv 100 == j floordiv 100",
    "abs(i - j) <= 20 + 30 * h or j == 7",
};

/// Returns whether a query sees a key, from the tables as a kernel reads them.
bool seesByTables(const TileTables &tables, const TileShape &shape, int64_t variant, int64_t query, int64_t key) {
  int64_t block = variant * tables.rowBlocks + query / shape.rowBlock;
  int64_t group = query % shape.rowBlock / shape.tileRows, row = query % shape.tileRows, vector = key / shape.lanes;
  for (int64_t run = tables.firstRun[block]; run < tables.firstRun[block + 1]; ++run) {
    int64_t first = tables.runs[3 * run], description = tables.runs[3 * run + 2];
    if (vector < first || vector >= tables.runs[3 * run + 1])
      continue;
    int64_t panel = (vector - first) / shape.tileVectors, place = key - first * shape.lanes;
    int32_t state = tables.descriptions[description + (2 + panel) * tables.groups + group];
    bool between = place >= tables.descriptions[description + 2 * group] &&
                   place < tables.descriptions[description + 2 * group + 1];
    if (state <= TileTables::kFull)
      return state == TileTables::kFull && between;
    int64_t words = shape.tileRows * shape.tileVectors;
    int32_t word = tables.patterns[(state - TileTables::kFirstPattern) * words + row * shape.tileVectors +
                                   (vector - first) % shape.tileVectors];
    return (word >> (key % shape.lanes) & 1) && between;
  }
  return false;
}

TEST(LiveTiles, AreThoseThatHoldASeenPair) {
  for (const char *mask : kMasks)
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{256, 256}, {210, 333}}) {
      ParsedAttention attention(masked(mask, queries, keys));
      auto shape = attention.shape();
      ASSERT_TRUE(shape);
      ASSERT_TRUE(shape->bounds.tiles) << mask;
      const LiveTiles &tiles = *shape->bounds.tiles;
      Pairs pairs(mask, queries, keys);
      EXPECT_EQ(tiles.variants(), std::string(mask).find('h') == std::string::npos ? 1 : 2);
      for (auto [rows, columns] : {std::pair<int64_t, int64_t>{6, 64}, {24, 96}, {5, 7}}) {
        TileMap map(tiles, rows, columns);
        for (int64_t variant = 0; variant < tiles.variants(); ++variant)
          for (int64_t group = 0; group < map.groups; ++group)
            for (int64_t panel = 0; panel < map.panels; ++panel)
              ASSERT_EQ(map.at(variant, group, panel),
                        pairs.stateOf(variant, group * rows, rows, panel * columns, columns))
                  << mask << ": tile " << group << ", " << panel << " of " << rows << "x" << columns;
      }
    }
}

TEST(LiveTiles, TablesSayOfEveryPairWhatTheMaskSays) {
  for (const char *mask : kMasks)
    for (TileShape shape : {TileShape{16, 6, 2, 24, 96}, TileShape{8, 4, 3, 8, 1000}, TileShape{4, 5, 1, 5, 4}}) {
      int64_t queries = 210, keys = 333;
      shape.keyBlock = llvm::alignTo(shape.keyBlock, shape.panel());
      ParsedAttention attention(masked(mask, queries, keys));
      auto tiles = attention.shape()->bounds.tiles;
      ASSERT_TRUE(tiles) << mask;
      TileTables tables = tablesOf(*tiles, shape);
      TileTables groups = groupTablesOf(*tiles, shape.lanes, shape.tileRows, shape.tileVectors);
      TileShape single{shape.lanes, shape.tileRows, shape.tileVectors, shape.tileRows, shape.panel()};
      Pairs pairs(mask, queries, keys);
      for (int64_t variant = 0; variant < tiles->variants(); ++variant)
        for (int64_t i = 0; i < queries; ++i)
          for (int64_t j = 0; j < keys; ++j) {
            ASSERT_EQ(seesByTables(tables, shape, variant, i, j), pairs.at(variant, i, j)) << mask << i << " " << j;
            ASSERT_EQ(seesByTables(groups, single, variant, i, j), pairs.at(variant, i, j)) << mask << i << " " << j;
          }
    }
}

TEST(LiveTiles, NothingWhereIntervalsSayAllOrNoTileIsDead) {
  for (const char *mask : {"j <= i", "j <= i and i - j < 40", "(i + j) mod 3 != 1"}) {
    ParsedAttention attention(masked(mask, 256, 256));
    EXPECT_FALSE(attention.shape()->bounds.tiles) << mask;
  }
  ParsedAttention few(masked("abs(i - j) <= 2 or j < 3", 40, 40));
  EXPECT_FALSE(few.shape()->bounds.tiles);
}

TEST(LiveTiles, TheirShareIsThatOfTheLiveOnes) {
  ParsedAttention attention(masked("i floordiv 64 == j floordiv 64", 512, 512));
  auto tiles = attention.shape()->bounds.tiles;
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->liveShare(64, 64), 1.0 / 8);
  TileShare share = shareOf(*tiles, TileMap(*tiles, 16, 32), {16, 16, 2, 128, 512});
  EXPECT_EQ(share.scores, 1.0 / 8);
  EXPECT_EQ(share.keys, 1.0 / 8);
  EXPECT_EQ(share.runs, 1);
}

} // namespace
