// The cost model: cycles of the register tiles, the traffic between caches, and the overheads of blocking.
#include "passes/Cpu/Schedule/CostModel.h"
#include "dialect/IR/Attn.h"
#include "passes/Analysis/DotKeys.h"
#include "passes/Analysis/TileTables.h"
#include "passes/Schedule/CpuEngine.h"
#include "passes/Schedule/Machine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace skewer;

// Numbers that depend on the processor are fields of its machine file (passes/Schedule/Machines). The constants here
// depend only on the generated loops.

// Cycles to rescale the maximum and sum of one row in an online softmax, without its accumulators: a chain of a load, a
// subtraction, exp2 of a scalar (about 30 cycles of latency), a multiplication and a store.
static constexpr double kRescale = 40;
// Vectors loaded, multiplied and stored to rescale a vector of accumulators.
static constexpr double kRescaleSteps = 3;
// Instructions of one vector of exp2 with its maximum and sum: on the FMA pipes; and additions, comparisons and
// rounding, which have separate pipes on some processors. Counted in generated code for AVX-512; AVX2 has one more.
static constexpr double kExpMultiplies = 7, kExpAdds = 7;
// The shares of L1 and L2 up to which a block stays there, since caches are not fully associative and other lines pass
// through. The panels of tiles do not: they are loaded past L1.
static constexpr double kBlockShareOfL1 = 0.7, kTileShareOfL1 = 0.9, kBlockShareOfL2 = 0.7, kHeadShareOfL2 = 0.8;
// Cycles to load two vectors of weights, round them and store them, for one of them.
static constexpr double kPackedWeightCycles = 1.5;
// Instructions of one vector of weights that are made as integers of 16 bits, packed, with their sum and a test: on the
// pipes of FMAs, and others. Counted in generated code (passes/Cpu/PackedWeights.cpp).
static constexpr double kPowerMultiplies = 3, kPowerAdds = 4;
// If what exponentials subtract is loose (Weighing::looseReferences), cycles of a row for each block of keys: its
// reference and its sum are loaded, and the sum is stored.
static constexpr double kLooseRow = 15;
// Cycles to load and store the sums of a row in tiles, for each vector: 9.7 and 16 for 16 rows, measured on an Emerald
// Rapids core.
static constexpr double kTileSums = 1.6;
// The number of times that the scores of a row pass between the core and their buffer: written by the products, read
// for the maximum and exp2, written, and read with the values.
static constexpr double kScorePasses = 4;
// The same if what exponentials subtract is loose: scores are read once.
static constexpr double kLoosePasses = 2;
// Each tile costs this share more for the loads that it issues per cycle. So between tiles of equal cycles the one with
// fewer loads wins, which leaves room for prefetches. On a Zen 4 core, whose FMAs take all of its cycles, tiles of 6x4,
// 8x3, 8x2 and 4x1 are equal except for the pairs that a mask hides: 1024 tokens take 20.7 to 20.9 ms, and with a
// causal mask 11.3, 11.1, 10.9 and 10.6 ms.
static constexpr double kTieShare = 0.05;
// The keys of a head are packed once for each run of work items. With fewer rows per item than this, the time of the
// packing is noticeable.
static constexpr int64_t kRowsPerItem = 512;
// Blocks of more than 32 tiles have at most this many rows. A small tile needs them where a term costs much for each
// block of rows: with tiles of 4x6, deberta in bf16 takes 9.0 ms with 128 rows and 8.5 with 256 (Zen 4,
// tests/bench/schedules/zen4.json).
static constexpr int64_t kMostRowsOfSmallTiles = 256;
// The number of work items that keep the threads of a large machine busy; and the most traffic for the partial result
// of a part of the keys, written and read again, as a share of the keys and values that the part reads.
static constexpr int64_t kItems = 128;
static constexpr double kMergedShare = 0.01;

static const CpuEngineCost &fma() { return *cpuEngines().front(); } // which takes all types

double skewer::tileCycles(RegisterTile tile, const Target &target) {
  return fma().stepCycles(tile.rows, tile.vectors, target);
}

namespace {
/// Returns the engine that multiplies the packed content: FMAs if nothing is packed, and for strategies in phases,
/// which multiply in their own way.
const CpuEngineCost &contentEngine(const AttentionSizes &sizes, const Target &target) {
  if (sizes.isInPhases || !sizes.depth)
    return fma();
  return contentEngineFor(sizes.element, sizes.depth, target);
}

/// Returns whether all keys are multiplied where they lie.
bool meetsKeysInPlace(const AttentionSizes &sizes) { return sizes.depthInPlace && !sizes.depth; }
/// Returns whether one row block has all queries of a head, and multiplies the keys in place.
bool isReadOnce(const AttentionSizes &sizes, int64_t rowBlock) {
  return meetsKeysInPlace(sizes) && rowBlock >= sizes.queries && !sizes.isInPhases;
}

/// Returns the engine that multiplies weights with values.
const CpuEngineCost &valuesEngine(const AttentionSizes &sizes, RegisterTile tile, const Target &target) {
  WeighedValues values = sizes.values;
  values.areInPlace = meetsKeysInPlace(sizes);
  values.areOfPhases = sizes.isInPhases;
  return cpuEngineOf(values, tile.rows, target);
}

/// Returns the tile that an engine multiplies: that of the scores, or, if sums go through memory, the tiles of several
/// groups of rows of a block.
RegisterTile multipliedTile(RegisterTile tile, int64_t rowBlock, const CpuEngineCost &engine, const Target &target) {
  return {engine.groupsTogether(tile.rows, tile.vectors, rowBlock, target) * tile.rows, tile.vectors};
}

/// Returns the cycles of `rows` × `columns` vectors over a depth with tiles of this shape. The last tile of a row may
/// be narrower.
double multiplyCycles(int64_t rows, int64_t columns, int64_t depth, RegisterTile tile, const Target &target,
                      const CpuEngineCost &engine) {
  int64_t whole = columns / tile.vectors, rest = columns % tile.vectors;
  double cycles = whole * engine.stepCycles(tile.rows, tile.vectors, target);
  if (rest)
    cycles += engine.stepCycles(tile.rows, rest, target);
  return cycles * llvm::divideCeil(rows, tile.rows) * engine.stepsOf(depth);
}
} // namespace

double skewer::multiplyCycles(int64_t rows, int64_t columns, int64_t depth, RegisterTile tile, const Target &target,
                              ElementType element) {
  return ::multiplyCycles(rows, columns, depth, tile, target, cpuEngineFor(element, target));
}

namespace {
/// Returns the cycles of the content of `rows` rows: whole vectors of keys with tiles, and the keys behind them as dot
/// products, if possible.
double contentCycles(int64_t rows, const AttentionSizes &sizes, RegisterTile tile, const Target &target) {
  const CpuEngineCost &engine = contentEngine(sizes, target);
  int64_t columns = llvm::divideCeil(sizes.keys, target.lanes);
  int64_t dots = sizes.mayDot && &engine == &fma() ? keysMultipliedAsDots(sizes.keys, sizes.depth, target.lanes) : 0;
  if (!dots)
    return multiplyCycles(rows, columns, sizes.depth, tile, target, engine);
  auto steps = static_cast<double>(instructionsOfDot(sizes.depth, target.lanes));
  return multiplyCycles(rows, columns - 1, sizes.depth, tile, target) +
         static_cast<double>(rows * dots) * steps / target.fmaPerCycle;
}

/// Returns whether the blocks of the request, if it pins them, consist of whole tiles of this shape.
bool suits(RegisterTile tile, const Target &target, const CpuRequest &asked) {
  auto divides = [](int64_t unit, int64_t number) { return !number || number % unit == 0; };
  return divides(tile.rows, asked.rowBlock) && divides(tile.vectors * target.lanes, asked.keyBlock) &&
         (asked.rowBlock || divides(tile.rows, asked.rowsPerItem));
}

/// The shares of the scores, in tiles, and of the products with values, in rows of tiles, that a mask leaves.
struct LiveShares {
  double scores = 1, values = 1;
};

LiveShares liveShares(RegisterTile tile, const AttentionSizes &sizes, const Target &target) {
  int64_t panel = tile.vectors * target.lanes;
  if (sizes.tiles) {
    double share = sizes.tiles->liveShare(tile.rows, panel);
    return {share, share};
  }
  if (!sizes.seen)
    return {};
  // Look at every group of rows, or at a sample.
  constexpr int64_t kSample = 256;
  int64_t columns = llvm::alignTo(sizes.keys, target.lanes), groups = 0, live = 0, tiled = 0;
  int64_t step = tile.rows * std::max<int64_t>(1, sizes.queries / (tile.rows * kSample));
  for (int64_t first = 0; first < sizes.queries; first += step) {
    int64_t low = sizes.seen->low == INT64_MIN ? 0 : std::clamp<int64_t>(first + sizes.seen->low, 0, sizes.keys);
    int64_t high = sizes.seen->high == INT64_MAX
                       ? sizes.keys
                       : std::clamp<int64_t>(first + tile.rows + sizes.seen->high, low, sizes.keys);
    ++groups;
    live += high - low;
    if (low < high)
      tiled += std::min<int64_t>(llvm::alignTo(high, panel), columns) - low / panel * panel;
  }
  return {double(tiled) / double(groups * columns), double(live) / double(groups * sizes.keys)};
}

RegisterTile chooseTile(const AttentionSizes &sizes, const Target &target, const CpuRequest &asked = {}) {
  if (sizes.tile && suits(*sizes.tile, target, asked))
    return {asked.tileRows ? asked.tileRows : sizes.tile->rows,
            asked.tileVectors ? asked.tileVectors : sizes.tile->vectors};
  RegisterTile best{asked.tileRows ? asked.tileRows : 1, asked.tileVectors ? asked.tileVectors : 1};
  if (asked.tileRows && asked.tileVectors)
    return best;
  double bestCycles = INFINITY;
  int64_t keyVectors = llvm::divideCeil(sizes.keys, target.lanes);
  int64_t widthVectors = llvm::divideCeil(sizes.width, target.lanes);
  const CpuEngineCost &engine = contentEngine(sizes, target);
  for (int64_t rows : engine.rows())
    for (int64_t vectors : engine.vectors()) {
      if (!engine.holds(rows, vectors, target))
        continue;
      // Sums over lanes are computed for a power of two of rows.
      if (sizes.depthInPlace && target.lanes % rows != 0 && asked.tileRows != rows)
        continue;
      if (!suits({rows, vectors}, target, asked) || (asked.tileRows && rows != asked.tileRows) ||
          (asked.tileVectors && vectors != asked.tileVectors))
        continue;
      int64_t count = std::max(sizes.queries, rows);
      LiveShares live = liveShares({rows, vectors}, sizes, target);
      double cycles = live.scores * contentCycles(llvm::alignTo(count, rows), sizes, {rows, vectors}, target) +
                      live.values * multiplyCycles(count, widthVectors, sizes.keys, {rows, vectors}, target,
                                                   valuesEngine(sizes, {rows, vectors}, target));
      // Products of terms end with up to vectors - 1 single vectors for each group of rows, which may take longer.
      double products = double(sizes.more.size()) + sizes.extraPerKey + (sizes.extraPerRow > 0);
      double longer = engine.stepCycles(rows, 1, target) - engine.stepCycles(rows, vectors, target) / double(vectors);
      cycles += live.scores * products * std::max(0.0, longer) * double(vectors - 1) / 2 *
                double(engine.stepsOf(sizes.depth)) * double(llvm::divideCeil(count, rows));
      // Row groups go through one panel of keys after another. A panel that is too large for L1 comes from L2 for each
      // row group.
      double panelBytes = kFloatBytes * std::min(vectors, keyVectors) * target.lanes * engine.stepsOf(sizes.depth);
      if (panelBytes > kPanelShare * target.l1Bytes)
        cycles += live.scores * target.exposedTraffic * panelBytes / target.l2Rate *
                  llvm::divideCeil(keyVectors, vectors) * llvm::divideCeil(count, rows);
      // Between equal tiles, prefer fewer loads per cycle.
      double loads = double(rows + vectors) / double(rows * vectors) * target.fmaPerCycle / target.loadsPerCycle;
      cycles *= 1 + kTieShare * loads;
      if (cycles < bestCycles) {
        bestCycles = cycles;
        best = {rows, vectors};
      }
    }
  return best;
}
} // namespace

double skewer::productCycles(double flops, const TileSizes &tile, const Target &target, ElementType element) {
  const CpuEngineCost &engine = cpuEngineFor(element, target);
  double flopsOfStep = 2.0 * double(tile.tileRows * tile.tileVectors * target.lanes * engine.elementsOfStep());
  return flops / flopsOfStep * engine.stepCycles(tile.tileRows, tile.tileVectors, target);
}

/// Returns the cycles of a row to rescale the results of earlier key blocks to the maximum of the next one, `blocks`
/// times.
static double rescaleCycles(double blocks, const AttentionSizes &sizes, const Target &target) {
  return blocks > 1 ? blocks * (kRescale + kRescaleSteps * double(llvm::divideCeil(sizes.width, target.lanes))) : 0;
}

double skewer::cyclesPerRow(const AttentionSizes &sizes, const Blocking &blocking, const Target &target) {
  RegisterTile tile = blocking.registers();
  int64_t rows = blocking.rowBlock, keys = std::max<int64_t>(1, blocking.keyBlock);
  const CpuEngineCost &ofContent = contentEngine(sizes, target);
  RegisterTile scores = multipliedTile(tile, rows, ofContent, target);
  const CpuEngineCost &ofValues = valuesEngine(sizes, scores, target);
  RegisterTile values = multipliedTile(tile, rows, ofValues, target);
  int64_t widthVectors = llvm::divideCeil(sizes.width, target.lanes);
  auto all = double(std::max(scores.rows, values.rows));
  double scoreCycles = contentCycles(scores.rows, sizes, scores, target) * (all / double(scores.rows));
  double sumCycles =
      ::multiplyCycles(values.rows, widthVectors, sizes.keys, values, target, ofValues) * (all / double(values.rows));
  double compute = (scoreCycles + sumCycles) / all;
  bool arePowers = sizes.mayMakePowers && ofValues.takesWeights(), isLoose = arePowers && ofContent.rowsInMemory();
  if (ofValues.takesWeights() && !arePowers)
    compute += kPackedWeightCycles * double(llvm::divideCeil(sizes.keys, target.lanes));
  for (const RowCycles &cycles : sizes.more)
    compute += cycles(sizes, blocking, target);
  double multiplies = arePowers ? kPowerMultiplies : kExpMultiplies, adds = arePowers ? kPowerAdds : kExpAdds;
  double exponentials = target.separateAdd() ? std::max(multiplies / target.fmaPerCycle, adds / target.addPerCycle)
                                             : (multiplies + adds) / target.fmaPerCycle;
  compute += (1 + sizes.storesWeights) * exponentials * llvm::divideCeil(sizes.keys, target.lanes);
  // Operands count as f32, but those of tiles as they are: the choices that were measured for vectors of bf16 are right
  // with it.
  auto elements = [](const CpuEngineCost &engine) { return engine.rowsInMemory() ? engine.elementsOfStep() : 1; };
  double depthOfRow = double(sizes.depth) / double(elements(ofContent)) + double(sizes.depthInPlace);
  double packedWidth = double(sizes.width) / double(elements(ofValues));
  double bytesOfHead = kFloatBytes * double(sizes.keys) * (depthOfRow + packedWidth);
  double blockBytes =
      kFloatBytes * rows * (keys * (1.0 + sizes.extraPerKey) + sizes.extraPerRow + depthOfRow + double(sizes.width));
  if (ofValues.takesWeights()) // packed, with half the bits of scores
    blockBytes += kFloatBytes / 2 * double(values.rows * keys);
  // Keys and values are read once per row block. They come from L2 if a head and the block fit there together. The
  // products of tiles count the panels that they load from L2 (CpuEngineCost::stepCycles).
  bool isOfTiles = ofContent.rowsInMemory() > 0;
  bool inL2 = bytesOfHead + blockBytes < kHeadShareOfL2 * target.l2Bytes;
  double cyclesOfByte = 1 / (inL2 ? target.l2Rate : target.l3Rate) - (isOfTiles ? 1 / target.l2Rate : 0);
  double traffic = bytesOfHead * cyclesOfByte / rows;
  // Scores are written, read, written and read: without cost in L1, else at the rate of L2 or L3. Tiles read packed
  // weights again for each of their columns.
  double passBytes = (isLoose ? kLoosePasses : kScorePasses) * kFloatBytes * keys * (1 + sizes.extraPerKey);
  if (isOfTiles && ofValues.takesWeights())
    passBytes += kFloatBytes / 2 * keys * (1 + double(llvm::divideCeil(widthVectors, tile.vectors)));
  double passes = blockBytes < kBlockShareOfL1 * target.l1Bytes   ? 0
                  : blockBytes < kBlockShareOfL2 * target.l2Bytes ? passBytes / target.l2Rate
                                                                  : passBytes / target.l3Rate;
  if (isOfTiles) // only what does not fit comes from L2
    passes *= std::max(0.0, 1 - kTileShareOfL1 * double(target.l1Bytes) / blockBytes);
  auto blocks = double(llvm::divideCeil(sizes.keys, keys));
  passes *= blocks;
  if (ofValues.rowsInMemory())
    compute += blocks * kTileSums * double(widthVectors);
  double rescales = isLoose ? blocks * kLooseRow : rescaleCycles(blocks, sizes, target);
  // Tiles are stored and loaded beside few other instructions, so that nothing hides the traffic of their sums.
  double exposed = isOfTiles ? 1 : target.exposedTraffic;
  return compute + target.exposedTraffic * traffic + exposed * passes + rescales;
}

double skewer::productsOverFma(const AttentionSizes &sizes, const Blocking &blocking, const Target &target) {
  const CpuEngineCost &ofContent = contentEngine(sizes, target);
  RegisterTile scores = multipliedTile(blocking.registers(), blocking.rowBlock, ofContent, target);
  const CpuEngineCost &ofValues = valuesEngine(sizes, scores, target);
  return std::max(ofContent.products(target), ofValues.products(target)) / fma().products(target);
}

bool skewer::sumsIntegers(const AttentionSizes &sizes, const Target &target) {
  if (sizes.bytesInPlace)
    return contentEngineFor(ElementType::I8, sizes.depthInPlace, withoutTiles(target)).sumsIntegers();
  return contentEngine(sizes, target).sumsIntegers();
}

/// Returns the keys of a work item if keys are read once and there are too few heads for all workers; 0: all keys.
static int64_t chooseKeysPerItem(const AttentionSizes &sizes, const Blocking &blocking) {
  if (!isReadOnce(sizes, blocking.rowBlock) || sizes.storesWeights)
    return 0;
  double read = double(sizes.depthInPlace + sizes.width), merged = 2 * double(sizes.queries * sizes.width);
  auto least = static_cast<int64_t>(merged / (kMergedShare * read));
  int64_t parts = llvm::divideCeil(kItems, sizes.heads);
  int64_t keys = llvm::alignTo(std::max<int64_t>(least, llvm::divideCeil(sizes.keys, parts)), blocking.keyBlock);
  return keys < sizes.keys ? keys : 0;
}

Blocking skewer::chooseBlocking(const AttentionSizes &sizes, const Target &target, const CpuRequest &asked) {
  RegisterTile tile = chooseTile(sizes, target, asked);
  int64_t panel = tile.vectors * target.lanes;
  Blocking best{tile.rows, tile.vectors, tile.rows, panel, 0, 0, INFINITY};
  int64_t allKeys = llvm::alignTo(sizes.keys, panel);
  // The rows that are computed together: all of them, or the rows of one phase.
  int64_t rowsInAll = sizes.isInPhases ? llvm::divideCeil(sizes.queries, target.lanes) : sizes.queries;
  std::optional<TileMap> map;
  if (sizes.tiles)
    map.emplace(*sizes.tiles, tile.rows, panel);
  auto consider = [&](int64_t rows, int64_t keys) {
    Blocking blocking{tile.rows, tile.vectors, rows, keys, 0, 0, 0};
    blocking.cyclesPerRow = cyclesPerRow(sizes, blocking, target);
    if (map) {
      TileShare share = shareOf(*sizes.tiles, *map, {target.lanes, tile.rows, tile.vectors, rows, keys});
      blocking.cyclesPerRow *= (share.scores + share.keys) / 2;
      blocking.cyclesPerRow += rescaleCycles(share.runs, sizes, target);
    }
    if (blocking.cyclesPerRow < best.cyclesPerRow)
      best = blocking;
  };
  auto considerKeys = [&](int64_t rows) {
    if (asked.keyBlock)
      return consider(rows, asked.keyBlock);
    int64_t most = attn::CpuScheduleAttr::kMostScores / rows;
    if (sizes.turnKeys && isReadOnce(sizes, rows))
      most = std::min(most, sizes.turnKeys);
    for (int64_t keys = panel;; keys *= 2) {
      keys = std::min(keys, allKeys);
      if (keys > panel && keys > most)
        break;
      consider(rows, keys);
      if (keys >= allKeys)
        break;
    }
  };
  if (asked.rowBlock) {
    considerKeys(asked.rowBlock);
  } else {
    for (int64_t groups : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
      int64_t rows = groups * tile.rows;
      if (groups > 32 && rows > kMostRowsOfSmallTiles)
        break;
      // Tiles of sums go through memory, so blocks have the rows that an engine multiplies at once, if there are as
      // many.
      if (rows < std::min(contentEngine(sizes, target).rowsInMemory(), sizes.queries))
        continue;
      if (groups > 1 && rows - tile.rows >= (sizes.isInPhases ? sizes.queries / target.lanes : sizes.queries))
        break;
      if (asked.rowsPerItem % rows == 0)
        considerKeys(rows);
    }
  }
  int64_t item = sizes.isInPhases ? rowsInAll : std::min(std::max(kRowsPerItem, best.rowBlock), sizes.queries);
  best.rowsPerItem = asked.rowsPerItem ? asked.rowsPerItem : llvm::alignTo(item, best.rowBlock);
  best.keysPerItem = asked.keysPerItem ? asked.keysPerItem : chooseKeysPerItem(sizes, best);
  return best;
}
