// Counts the tiles of a score that a mask leaves: by the tables of its tiles, or by its interval and, at the edges,
// pair by pair.
#include "passes/Analysis/TileCounts.h"
#include "dialect/Subscript/Program.h"
#include "passes/Analysis/TileTables.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::subscript;

// The most elements of a score whose mask is evaluated pair by pair.
static constexpr int64_t kMostElements = 1 << 24;

Range skewer::keysInInterval(const AttentionShape &shape, int64_t first, int64_t rows) {
  Range live{0, shape.keys - 1};
  if (shape.visible && shape.visible->low != INT64_MIN)
    live.low = std::max(live.low, first + shape.visible->low);
  if (shape.visible && shape.visible->high != INT64_MAX)
    live.high = std::min(live.high, first + rows - 1 + shape.visible->high);
  return live;
}

namespace {
/// Evaluates, element by element, the parts of a mask that are not an interval.
class ElementMask {
public:
  explicit ElementMask(const AttentionShape &shape) : shape(shape), symbols(shape.space.query), program({}) {
    symbols.insert(symbols.end(), shape.space.key.begin(), shape.space.key.end());
    values.resize(symbols.size());
    program = Program(symbols);
    for (const MaskPart &part : llvm::concat<const MaskPart>(shape.masks, shape.bounds.parts)) {
      for (const std::string &symbol : symbolsOf(part.predicate))
        known &= std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
      predicates.push_back(program.add(part.predicate));
    }
    known &= shape.queries <= kMostElements / std::max<int64_t>(1, shape.keys);
  }

  bool sees(int64_t query, int64_t key) {
    set(0, shape.queryAxes, query);
    set(shape.queryAxes.size(), shape.keyAxes, key);
    program.run(values);
    for (size_t predicate : predicates) {
      auto seen = program.value(predicate);
      known &= seen.has_value();
      if (!seen || !*seen)
        return false;
    }
    return true;
  }
  bool known = true;

private:
  void set(size_t first, const std::vector<MapAxis> &axes, int64_t position) {
    for (size_t k = 0; k < axes.size(); ++k)
      values[first + k] = position / axes[k].inner % axes[k].extent;
  }

  const AttentionShape &shape;
  std::vector<std::string> symbols;
  std::vector<int64_t> values;
  Program program;
  std::vector<size_t> predicates;
};
} // namespace

/// Returns whether the mask consists only of the interval and of parts that are known pair by pair.
static bool isAllTiles(const AttentionShape &shape) {
  return shape.bounds.tiles && shape.bounds.parts.empty() &&
         llvm::all_of(shape.masks, [](const MaskPart &part) { return part.kind == BiasKind::Tiles; });
}

std::optional<TileCounts> skewer::countTiles(const AttentionShape &shape, int64_t tileRows, int64_t tileKeys,
                                             llvm::function_ref<void(int64_t, int64_t, TileState)> each) {
  TileCounts counts;
  auto count = [&](int64_t row, int64_t column, TileState state) {
    ++counts.of(state);
    if (each)
      each(row, column, state);
  };
  if (isAllTiles(shape)) {
    TileMap map(*shape.bounds.tiles, tileRows, tileKeys);
    for (auto [place, state] : llvm::enumerate(map.all())) {
      ++counts.of(state);
      auto tile = static_cast<int64_t>(place);
      if (each && tile < map.groups * map.panels) // only the first head, if masks differ from head to head
        each(tile / map.panels * tileRows, tile % map.panels * tileKeys, state);
    }
    counts.skipped = counts.dead;
    return counts;
  }
  ElementMask mask(shape);
  for (int64_t row = 0; row < shape.queries; row += tileRows) {
    int64_t endRow = std::min(row + tileRows, shape.queries);
    Range live = keysInInterval(shape, row, endRow - row);
    for (int64_t column = 0; column < shape.keys; column += tileKeys) {
      int64_t last = std::min(column + tileKeys, shape.keys) - 1;
      bool inPrefix = column < shape.prefix && column <= live.high;
      if (!inPrefix && (live.low > live.high || last < live.low || column > live.high)) {
        count(row, column, TileState::Dead);
        ++counts.skipped;
        continue;
      }
      // The interval moves with the query: the interval of the last row begins latest, that of the first row ends
      // first.
      bool all = last <= keysInInterval(shape, row, 1).high;
      all &= last < shape.prefix || keysInInterval(shape, endRow - 1, 1).low <= std::max(column, shape.prefix);
      bool some = true;
      if (!shape.masks.empty() || !shape.bounds.parts.empty()) {
        if (!mask.known)
          return std::nullopt;
        bool any = false;
        for (int64_t i = row; i < endRow && !(any && !all); ++i) {
          Range own = keysInInterval(shape, i, 1);
          for (int64_t j = column; j <= std::min(last, own.high) && !(any && !all); ++j) {
            if (j < own.low && j >= shape.prefix)
              continue;
            bool seen = mask.sees(i, j);
            any |= seen;
            all &= seen;
          }
        }
        some = any;
      }
      count(row, column, !some ? TileState::Dead : all ? TileState::Full : TileState::Edge);
      counts.skipped += !some && shape.bounds.tiles; // the tables skip it, though other mask parts are tested at edges
    }
  }
  return mask.known ? std::optional<TileCounts>(counts) : std::nullopt;
}
