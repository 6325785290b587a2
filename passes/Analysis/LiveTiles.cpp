// Finds the visible pairs of a mask: bounds of large squares first, then of smaller squares, then pair by pair.
#include "passes/Analysis/LiveTiles.h"
#include "dialect/Subscript/Analysis.h"
#include "dialect/Subscript/Program.h"
#include "passes/Analysis/GuardTiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <optional>
#include <set>

using namespace skewer;
using namespace skewer::subscript;

// With fewer positions than kFewPositions, a block is a whole layer. With more pairs than kMostPairs, the survey of a
// mask without structure would take a minute. A mask with more than kMostSquares different squares at its edges has no
// structure.
static constexpr int64_t kFewPositions = 192, kMostPairs = int64_t(1) << 28;
static constexpr size_t kMostSquares = 4096;
// The tile size of a typical processor, used to estimate the share of live tiles. Above the share kMostLive, prepared
// lines are as fast as tiles.
static constexpr int64_t kTypicalRows = 8, kTypicalKeys = 32;
static constexpr double kMostLive = 0.9;

/// Goes through the pairs of one variant.
class LiveTiles::Survey {
public:
  Survey(LiveTiles &tiles, const AttentionShape &shape, const std::vector<MaskPart> &parts)
      : tiles(tiles), shape(shape), symbols(shape.space.query), program({}) {
    symbols.insert(symbols.end(), shape.space.key.begin(), shape.space.key.end());
    symbols.insert(symbols.end(), tiles.variantAxes.begin(), tiles.variantAxes.end());
    values.resize(symbols.size());
    program = Program(symbols);
    for (const MaskPart &part : parts) {
      predicates.push_back(part.predicate);
      places.push_back(program.add(part.predicate));
    }
  }

  /// Surveys the variant `number`. Returns false if there are too many different squares.
  bool go(int64_t number) {
    variant = number;
    domain = {};
    for (size_t n = tiles.variantAxes.size(); n-- > 0; number /= shape.space.sizes.at(tiles.variantAxes[n])) {
      int64_t value = number % shape.space.sizes.at(tiles.variantAxes[n]);
      domain[tiles.variantAxes[n]] = {value, value};
      values[symbols.size() - tiles.variantAxes.size() + n] = value;
    }
    constexpr int64_t kLargest = 256;
    for (int64_t query = 0; query < shape.queries; query += kLargest)
      for (int64_t key = 0; key < shape.keys; key += kLargest)
        fill(query, key, kLargest);
    return squares.size() <= kMostSquares;
  }

private:
  /// Adds the ranges that the axes of a position take in [first, end) to the domain.
  void addRanges(const std::vector<std::string> &names, const std::vector<MapAxis> &axes, int64_t first, int64_t end) {
    bool whole = false; // whether an outer axis takes several values
    for (auto [name, axis] : llvm::zip(names, axes)) {
      int64_t low = first / axis.inner % axis.extent, high = (end - 1) / axis.inner % axis.extent;
      domain[name] = whole ? Range{0, axis.extent - 1} : Range{low, high};
      whole |= low != high;
    }
  }

  /// Returns whether the interval shows all pairs of a square (true) or hides all of them (false); else nothing.
  std::optional<bool> intervalSays(Range query, Range key) const {
    if (!shape.visible)
      return true;
    auto [low, high] = *shape.visible;
    int64_t least = key.low - query.high, most = key.high - query.low;
    bool above = high == INT64_MAX || most <= high, below = low == INT64_MIN || least >= low;
    if (above && below)
      return true;
    if ((high != INT64_MAX && least > high) || (low != INT64_MIN && most < low))
      return false;
    return std::nullopt;
  }

  void fill(int64_t query, int64_t key, int64_t side) {
    int64_t endQuery = std::min(query + side, shape.queries), endKey = std::min(key + side, shape.keys);
    if (query >= shape.queries || key >= shape.keys || squares.size() > kMostSquares)
      return;
    std::optional<bool> seen = intervalSays({query, endQuery - 1}, {key, endKey - 1});
    if (seen == false)
      return;
    addRanges(shape.space.query, shape.queryAxes, query, endQuery);
    addRanges(shape.space.key, shape.keyAxes, key, endKey);
    for (const Expr &predicate : predicates) {
      auto bounds = bound(predicate, domain, std::nullopt, /*enumerationLimit=*/0);
      if (bounds && bounds->range.low == 0 && bounds->range.high == 0)
        return;
      if (!bounds || (bounds->range.low <= 0 && bounds->range.high >= 0))
        seen.reset();
    }
    if (seen) {
      for (int64_t i = query; i < endQuery; ++i)
        for (int64_t j = key; j < endKey; ++j)
          set(i, j);
    } else if (side == kCell) {
      goThrough(query, endQuery, key, endKey);
    } else {
      int64_t part = side / 4;
      for (int64_t i = 0; i < side; i += part)
        for (int64_t j = 0; j < side; j += part)
          fill(query + i, key + j, part);
    }
  }

  void set(int64_t query, int64_t key) {
    tiles.bits[(variant * shape.queries + query) * tiles.words + key / 64] |= uint64_t(1) << (key % 64);
  }

  /// Evaluates the predicates of a square pair by pair.
  void goThrough(int64_t query, int64_t endQuery, int64_t key, int64_t endKey) {
    std::vector<uint16_t> square(kCell, 0);
    for (int64_t i = query; i < endQuery; ++i) {
      for (auto [n, axis] : llvm::enumerate(shape.queryAxes))
        values[n] = i / axis.inner % axis.extent;
      for (int64_t j = key; j < endKey; ++j) {
        if (intervalSays({i, i}, {j, j}) == false)
          continue;
        for (auto [n, axis] : llvm::enumerate(shape.keyAxes))
          values[shape.queryAxes.size() + n] = j / axis.inner % axis.extent;
        program.run(values);
        if (!llvm::all_of(places, [&](size_t place) { return program.value(place).value_or(0) != 0; }))
          continue;
        set(i, j);
        square[i - query] |= uint16_t(1 << (j - key));
      }
    }
    squares.insert(std::move(square));
  }

  LiveTiles &tiles;
  const AttentionShape &shape;
  std::vector<std::string> symbols; // query, key, variant
  std::vector<int64_t> values;
  Program program;
  std::vector<Expr> predicates;
  std::vector<size_t> places;
  Domain domain;
  int64_t variant = 0;
  std::set<std::vector<uint16_t>> squares; // the different squares at edges
};

std::shared_ptr<const LiveTiles> LiveTiles::of(const AttentionShape &shape, const std::vector<MaskPart> &conjuncts) {
  auto tiles = std::make_shared<LiveTiles>();
  std::set<std::string> used;
  for (const MaskPart &part : conjuncts)
    used.merge(symbolsOf(part.predicate));
  for (const std::string &axis : shape.space.leading)
    if (used.count(axis)) {
      tiles->variantAxes.push_back(axis);
      tiles->variantCount *= shape.space.sizes.at(axis);
      if (tiles->variantCount > kMostPairs)
        return nullptr;
    }
  if (shape.queries > kMostPairs / shape.keys / tiles->variantCount)
    return nullptr;
  tiles->queryCount = shape.queries;
  tiles->keyCount = shape.keys;
  tiles->words = llvm::divideCeil(shape.keys, 64);
  tiles->bits.assign(tiles->variantCount * shape.queries * tiles->words, 0);
  Survey survey(*tiles, shape, conjuncts);
  for (int64_t variant = 0; variant < tiles->variantCount; ++variant)
    if (!survey.go(variant))
      return nullptr;
  return tiles;
}

uint64_t LiveTiles::seen(int64_t variant, int64_t query, int64_t first, int64_t count) const {
  if (query >= queryCount || first >= keyCount)
    return 0;
  const uint64_t *row = &bits[(variant * queryCount + query) * words];
  int64_t word = first / 64, shift = first % 64;
  uint64_t result = row[word] >> shift;
  if (shift && word + 1 < words)
    result |= row[word + 1] << (64 - shift);
  count = std::min(count, keyCount - first);
  return count >= 64 ? result : result & ((uint64_t(1) << count) - 1);
}

LiveTiles::State LiveTiles::stateOf(int64_t variant, int64_t query, int64_t rows, int64_t key, int64_t count) const {
  bool any = false, all = true;
  for (int64_t i = query; i < std::min(query + rows, queryCount); ++i)
    for (int64_t j = key; j < std::min(key + count, keyCount); j += 64) {
      int64_t wanted = std::min<int64_t>({64, key + count - j, keyCount - j});
      uint64_t found = seen(variant, i, j, wanted);
      any |= found != 0;
      all &= found == (wanted == 64 ? ~uint64_t(0) : (uint64_t(1) << wanted) - 1);
      if (any && !all)
        return State::Edge;
    }
  return !any ? State::Dead : State::Full;
}

double LiveTiles::liveShare(int64_t rows, int64_t count) const {
  int64_t down = llvm::divideCeil(queryCount, rows), across = llvm::divideCeil(keyCount, count);
  int64_t all = variantCount * down, step = std::max<int64_t>(1, all * across >> 14);
  // An odd step, since row groups at even distances may all be alike and differ from the others.
  step |= 1;
  int64_t live = 0, looked = 0;
  for (int64_t group = 0; group < all; group += step)
    for (int64_t panel = 0; panel < across; ++panel, ++looked)
      live += stateOf(group / down, group % down * rows, rows, panel * count, count) != State::Dead;
  return double(live) / double(std::max<int64_t>(looked, 1));
}

bool skewer::isKnownPairByPair(const Expr &predicate, const AttentionShape &shape) {
  if (!readsOf(predicate).empty())
    return false;
  return llvm::all_of(symbolsOf(predicate), [&](const std::string &symbol) {
    auto size = shape.space.sizes.find(symbol);
    return size != shape.space.sizes.end() && size->second > 0;
  });
}

std::shared_ptr<const LiveTiles> skewer::tilesOfGuard(const Expr &guard, const AttentionShape &shape) {
  AttentionShape everywhere = shape;
  everywhere.visible.reset();
  return LiveTiles::of(everywhere, {{guard, BiasKind::Tiles}});
}

void skewer::takeTiles(AttentionShape &shape) {
  if (shape.queries < kFewPositions || shape.keys < kFewPositions || !shape.visibleShift.isConstant(0) ||
      llvm::any_of(shape.content, [](const ContentTerm &term) { return term.key.picked.has_value(); }))
    return; // rows that keys pick are multiplied in place, key by key
  std::vector<MaskPart> known;
  for (const MaskPart &part : shape.masks)
    if (isKnownPairByPair(part.predicate, shape))
      known.push_back(part);
  if (known.empty())
    return;
  // The tiles include the prefix and the interval.
  AttentionShape without = shape;
  leavePrefix(without);
  if (shape.prefix)
    known.push_back(*shape.prefixMask);
  auto tiles = LiveTiles::of(without, known);
  if (!tiles || tiles->liveShare(kTypicalRows, kTypicalKeys) > kMostLive)
    return;
  shape = std::move(without);
  for (MaskPart &part : shape.masks)
    if (isKnownPairByPair(part.predicate, shape))
      part.kind = BiasKind::Tiles;
  shape.bounds.tiles = std::move(tiles);
}
