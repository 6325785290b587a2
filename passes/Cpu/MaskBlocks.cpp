// Finds blocks of a map in a mask, from the keys that each query sees along one key axis.
#include "passes/Cpu/MaskBlocks.h"
#include "passes/Fusion/Factorise.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;
using llvm::ArrayRef;

// Blocks may see at most this share of the map. Measured on an EPYC core with AVX-512, 8 heads of depth 32, time of
// blocks relative to tiles that a mask leaves out: 64x64 in blocks of 8 with a halo of 3 0.63, 24x24 0.84, 21x21 in
// blocks of 7 (0.38 of the map) 0.87.
static constexpr double kMostShare = 0.4;

std::vector<subscript::Range> skewer::keysOfBlocks(ArrayRef<Expr> conjuncts, const std::string &query,
                                                   const std::string &key, int64_t rows, const AxisSizes &sizes) {
  std::vector<subscript::Range> seen;
  int64_t queries = sizes.at(query), keys = sizes.at(key);
  for (int64_t first = 0; first < queries; first += rows) {
    subscript::Range range{keys, -1};
    for (int64_t i = first; i < std::min(first + rows, queries); ++i)
      for (int64_t j = 0; j < keys; ++j)
        if (llvm::all_of(conjuncts, [&](const Expr &e) {
              return evaluate(e, {{query, i}, {key, j}}).value_or(1) != 0;
            }))
          range = {std::min(range.low, j), std::max(range.high, j)};
    if (range.low > range.high)
      return {};
    seen.push_back(range);
  }
  return seen;
}

/// Returns the fewest keys that move evenly with the blocks and hold all that each block sees.
static std::optional<BlockAxis> narrowest(ArrayRef<subscript::Range> seen, BlockAxis axis) {
  std::optional<BlockAxis> best;
  for (size_t n = 0; n + 1 < seen.size(); ++n) {
    axis.step = seen[n + 1].low - seen[n].low;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (auto [number, range] : llvm::enumerate(seen)) {
      low = std::min(low, range.low - axis.step * static_cast<int64_t>(number));
      high = std::max(high, range.high - axis.step * static_cast<int64_t>(number));
    }
    axis.first = low;
    axis.keys = high - low + 1;
    // At borders blocks see less, and move by less: of two results with as many keys, the one with the longer step fits
    // the inner blocks.
    bool better = !best || axis.keys < best->keys || (axis.keys == best->keys && axis.step > best->step);
    if (axis.step > 0 && better)
      best = axis;
  }
  return best;
}

/// Returns the blocks of a query axis and a key axis that hold the fewest pairs.
static std::optional<BlockAxis> blocksAlong(ArrayRef<Expr> conjuncts, const std::string &query, const std::string &key,
                                            const ScoreSpace &space, bool numbers, bool ragged) {
  int64_t size = space.sizes.at(query);
  std::vector<Expr> own;
  std::set<int64_t> rows;
  for (const Expr &conjunct : conjuncts)
    if (symbolsOf(conjunct) == std::set<std::string>{query, key} && readNodes(conjunct).empty()) {
      own.push_back(conjunct);
      // A divisor of the axis's size has already taken the axis apart.
      for (int64_t divisor : ragged ? divisorsOf(conjunct, query) : std::set<int64_t>())
        if (divisor > 1 && divisor < size && size % divisor)
          rows.insert(divisor);
    }
  if (own.empty())
    return std::nullopt;
  if (numbers)
    rows.insert(0);
  std::optional<BlockAxis> best;
  for (int64_t of : rows) {
    BlockAxis axis{.query = query,
                   .key = key,
                   .step = 0,
                   .first = 0,
                   .keys = 0,
                   .count = of ? (size + of - 1) / of : size,
                   .rows = of};
    auto found = narrowest(keysOfBlocks(own, query, key, std::max(of, int64_t(1)), space.sizes), axis);
    if (found && found->keys < space.sizes.at(key) &&
        (!best || found->keys * found->padded() < best->keys * best->padded()))
      best = found;
  }
  return best;
}

std::vector<BlockAxis> skewer::blocksOf(const Expr &mask, const ScoreSpace &space) {
  std::vector<Expr> conjuncts = conjunctsOf(mask);
  // The number of a block is a query axis that the keys lack.
  bool numbers = space.query.size() > space.key.size();
  // The rows that the last block lacks cannot be read, not even by a mask.
  bool ragged = readNodes(mask).empty();
  std::vector<BlockAxis> blocks;
  for (const std::string &key : space.key)
    for (const std::string &query : space.query) {
      bool taken = llvm::any_of(blocks, [&](const BlockAxis &b) { return b.key == key || b.query == query; });
      if (taken)
        continue;
      if (auto axis = blocksAlong(conjuncts, query, key, space, numbers, ragged))
        blocks.push_back(*axis);
    }
  double share = 1;
  size_t left = space.query.size();
  for (const BlockAxis &block : blocks) {
    share *= double(block.keys) / double(space.sizes.at(block.key));
    share *= double(block.padded()) / double(space.sizes.at(block.query));
    left -= !block.countsQueries();
  }
  return left > 0 && share <= kMostShare ? blocks : std::vector<BlockAxis>();
}
