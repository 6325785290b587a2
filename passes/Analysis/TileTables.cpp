// Builds the tables of live tiles.
#include "passes/Analysis/GuardTiles.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <optional>

using namespace skewer;

TileMap::TileMap(const LiveTiles &tiles, int64_t rows, int64_t keys)
    : groups(llvm::divideCeil(tiles.queries(), rows)), panels(llvm::divideCeil(tiles.keys(), keys)) {
  states.reserve(tiles.variants() * groups * panels);
  for (int64_t variant = 0; variant < tiles.variants(); ++variant)
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t panel = 0; panel < panels; ++panel)
        states.push_back(tiles.stateOf(variant, group * rows, rows, panel * keys, keys));
}

namespace {
/// Panels [first, end) of a row block.
struct Run {
  int64_t first, end;
};

// A length of runs: one run of any number of panels, dead panels between live ones included.
constexpr int64_t kOneRun = 0;

/// Returns the panels that some group of [firstGroup, endGroup) sees, in runs of at most `most` panels, or in one run
/// if `most` is kOneRun.
std::vector<Run> runsOf(const TileMap &map, int64_t variant, int64_t firstGroup, int64_t endGroup, int64_t most) {
  std::vector<Run> runs;
  for (int64_t panel = 0; panel < map.panels; ++panel) {
    bool live = false;
    for (int64_t group = firstGroup; group < endGroup && !live; ++group)
      live = map.at(variant, group, panel) != LiveTiles::State::Dead;
    if (!live)
      continue;
    if (!runs.empty() && (most == kOneRun || (runs.back().end == panel && panel - runs.back().first < most)))
      runs.back().end = panel + 1;
    else
      runs.push_back({panel, panel + 1});
  }
  return runs;
}

/// Returns the range from the first to behind the last live panel of a group within a run; nothing if there are none.
std::optional<Run> livePanels(const TileMap &map, int64_t variant, int64_t group, const Run &run) {
  std::optional<Run> live;
  for (int64_t panel = run.first; panel < run.end; ++panel)
    if (map.at(variant, group, panel) != LiveTiles::State::Dead)
      live = Run{live ? live->first : panel, panel + 1};
  return live;
}

/// Builds the tables, block by block.
class Builder {
public:
  Builder(const LiveTiles &tiles, const TileShape &shape)
      : tiles(tiles), shape(shape), map(tiles, shape.tileRows, shape.panel()) {
    result.rowBlocks = llvm::divideCeil(tiles.queries(), shape.rowBlock);
    result.groups = shape.rowBlock / shape.tileRows;
  }

  TileTables go() {
    int64_t most = shape.keyBlock / shape.panel();
    for (int64_t variant = 0; variant < tiles.variants(); ++variant)
      for (int64_t block = 0; block < result.rowBlocks; ++block) {
        int64_t first = block * result.groups, end = std::min(first + result.groups, map.groups);
        result.firstRun.push_back(int32_t(result.runs.size() / 3));
        std::vector<Run> runs = runsOf(map, variant, first, end, most);
        result.mostRuns = std::max(result.mostRuns, int64_t(runs.size()));
        for (const Run &run : runs) {
          int64_t endVector =
              std::min(run.end * shape.tileVectors, int64_t(llvm::divideCeil(tiles.keys(), shape.lanes)));
          result.runs.insert(result.runs.end(), {int32_t(run.first * shape.tileVectors), int32_t(endVector),
                                                 describe(variant, first, end, run)});
        }
      }
    result.firstRun.push_back(int32_t(result.runs.size() / 3));
    // A constant needs at least one element, although nothing reads it.
    if (result.runs.empty())
      result.runs.assign(3, 0);
    for (std::vector<int32_t> *table : {&result.descriptions, &result.patterns})
      if (table->empty())
        table->push_back(0);
    return std::move(result);
  }

private:
  int32_t describe(int64_t variant, int64_t firstGroup, int64_t endGroup, const Run &run) {
    int64_t panels = run.end - run.first;
    std::vector<int32_t> description(result.groups * (2 + panels), TileTables::kOutside);
    for (int64_t group = firstGroup; group < endGroup; ++group) {
      auto live = livePanels(map, variant, group, run);
      if (!live)
        continue;
      auto [low, high] = keysOf(variant, group, *live);
      int64_t own = group - firstGroup;
      description[2 * own] = int32_t(low - run.first * shape.panel());
      description[2 * own + 1] = int32_t(high - run.first * shape.panel());
      for (int64_t panel = live->first; panel < live->end; ++panel)
        description[(2 + panel - run.first) * result.groups + own] = stateOf(variant, group, panel);
    }
    auto [known, isNew] = places.try_emplace(description, int32_t(result.descriptions.size()));
    if (isNew)
      result.descriptions.insert(result.descriptions.end(), description.begin(), description.end());
    return known->second;
  }

  /// Returns the range from the first to behind the last key that some row of a group sees in these panels.
  Run keysOf(int64_t variant, int64_t group, const Run &panels) {
    auto sees = [&](int64_t key) {
      for (int64_t row = 0; row < shape.tileRows; ++row)
        if (tiles.seen(variant, group * shape.tileRows + row, key, 1))
          return true;
      return false;
    };
    int64_t low = panels.first * shape.panel(), high = std::min(panels.end * shape.panel(), tiles.keys());
    while (!sees(low))
      ++low;
    while (!sees(high - 1))
      --high;
    return {low, high};
  }

  int32_t stateOf(int64_t variant, int64_t group, int64_t panel) {
    switch (map.at(variant, group, panel)) {
    case LiveTiles::State::Dead:
      return TileTables::kHole;
    case LiveTiles::State::Full:
      return TileTables::kFull;
    case LiveTiles::State::Edge:
      break;
    }
    std::vector<int32_t> pattern;
    for (int64_t row = 0; row < shape.tileRows; ++row)
      for (int64_t v = 0; v < shape.tileVectors; ++v)
        pattern.push_back(int32_t(
            tiles.seen(variant, group * shape.tileRows + row, panel * shape.panel() + v * shape.lanes, shape.lanes)));
    auto [known, isNew] = patterns.try_emplace(pattern, TileTables::kFirstPattern + int32_t(patterns.size()));
    if (isNew)
      result.patterns.insert(result.patterns.end(), pattern.begin(), pattern.end());
    return known->second;
  }

  const LiveTiles &tiles;
  const TileShape shape;
  TileMap map;
  TileTables result;
  std::map<std::vector<int32_t>, int32_t> places, patterns;
};
} // namespace

TileTables skewer::tablesOf(const LiveTiles &tiles, const TileShape &shape) { return Builder(tiles, shape).go(); }

TileTables skewer::groupTablesOf(const LiveTiles &tiles, int64_t lanes, int64_t tileRows, int64_t tileVectors) {
  TileShape groups{lanes, tileRows, tileVectors, tileRows, kOneRun};
  return Builder(tiles, groups).go();
}

TileShare skewer::shareOf(const LiveTiles &tiles, const TileMap &map, const TileShape &shape) {
  int64_t groups = std::max<int64_t>(1, shape.rowBlock / shape.tileRows),
          most = std::max<int64_t>(1, shape.keyBlock / shape.panel());
  int64_t scores = 0, keys = 0, runs = 0, blocks = 0;
  for (int64_t variant = 0; variant < tiles.variants(); ++variant)
    for (int64_t first = 0; first < map.groups; first += groups, ++blocks) {
      int64_t end = std::min(first + groups, map.groups);
      for (const Run &run : runsOf(map, variant, first, end, most)) {
        ++runs;
        for (int64_t group = first; group < end; ++group) {
          auto live = livePanels(map, variant, group, run);
          if (!live)
            continue;
          keys += live->end - live->first;
          for (int64_t panel = live->first; panel < live->end; ++panel)
            scores += map.at(variant, group, panel) != LiveTiles::State::Dead;
        }
      }
    }
  double all = double(tiles.variants() * map.groups * map.panels);
  return {double(scores) / all, double(keys) / all, double(runs) / double(blocks)};
}
