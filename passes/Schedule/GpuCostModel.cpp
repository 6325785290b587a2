// The GPU cost model: operations and bytes of a step of a block, and how those of resident blocks overlap.
#include "passes/Schedule/GpuCostModel.h"
#include "passes/Analysis/GpuLayout.h"
#include "passes/Schedule/Prediction.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace skewer;
using namespace skewer::gpu;

// Cycles of a step that nothing of its own warp hides: its barrier, the first fragments, the maximum over four lanes.
static constexpr double kLatency = 600;
// Of the work that is not the longest part of a step, the share that a warp does not overlap with it by itself.
static constexpr double kSerialShare = 0.5;
// f32 instructions of a score in the softmax (maximum, subtraction, sum, half a conversion), and all its instructions.
static constexpr double kSoftmaxFloats = 3.5, kSoftmaxIssued = 5;
// Of the bench layers in f32, for four targets, three in four that were guessed to need more registers than this
// spilled some. What takes fewer, and is predicted to cost no more than so many times as much, goes before them: the
// prediction is no more exact than that.
static constexpr int64_t kSafeRegisters = 206;
static constexpr double kNearlyEqual = 1.05;
// Instructions of a thread in a step, whatever its size: its barrier, where copies go, shuffles.
static constexpr double kStepIssued = 60;

namespace {

/// Of what is multiplied.
int64_t elementBytes(const GpuShape &shape) { return shape.element.isF32() ? 4 : 2; }

/// Cycles of a multiprocessor for each kind of work of a step.
std::vector<std::pair<double, const char *>> partsOf(const GpuStepWork &work, const GpuMachine &machine) {
  return {{work.matrixFlops / machine.matrixFlops, "tensor cores"},
          {work.exponentials / machine.exponentials, "exponentials"},
          {work.floats / machine.floats, "f32 arithmetic"},
          {work.issued / machine.issued, "instructions"},
          {work.sharedTraffic / machine.sharedTraffic, "shared memory"},
          {work.globalTraffic / machine.globalTraffic, "second-level cache"}};
}

/// Cycles for one step of each of `blocks` resident blocks, and what bounds them.
std::pair<double, const char *> cyclesTogether(const GpuStepWork &work, const GpuTile &tile, const GpuMachine &machine,
                                               int64_t blocks) {
  double waits = tile.isSingleBuffered() ? work.operands : 0;
  auto parts = partsOf(work, machine);
  auto most =
      *std::max_element(parts.begin(), parts.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  double sum = 0;
  for (const auto &part : parts)
    sum += part.first;
  // A block of fewer than four warps leaves schedulers without work, however few blocks there are.
  double share = std::max(1.0, 4.0 / double(tile.warps()));
  double alone = (most.first + kSerialShare * (sum - most.first)) * share + kLatency * (1 + waits);
  double together = most.first * double(blocks);
  return together >= alone ? std::pair(together, most.second) : std::pair(alone, "latency");
}

} // namespace

GpuStepWork skewer::gpu::stepWorkOf(const GpuShape &shape, const GpuTile &tile) {
  GpuLayout layout = layoutOf(shape, tile);
  double rows = double(tile.rows), keys = double(tile.keys), scores = rows * keys, all = double(tile.rowTiles());
  GpuStepWork work;
  work.operands = double(shape.attention.content.size() + shape.bands.size() + 1 + shape.valueRows.size() +
                         shape.valueBands.size());
  double copied = 0; // bytes from global to shared memory
  // f32 goes as three products of tf32, each at half the rate.
  double bytes = double(elementBytes(shape)), products = shape.element.isF32() ? 6 : 1;
  double added =
      0; // sums of chains, which begin anew at every 16th element of a row (passes/Gpu/MmaSync.h, kStepsOfChain)
  /// A product of every warp's rows with `columns` rows of a tile, whose fragments each meet `together` of its tiles of
  /// 16 rows.
  auto product = [&](double columns, int64_t width, double together) {
    work.matrixFlops += 2 * rows * columns * double(width) * products;
    work.sharedTraffic += rows / 16 / together * columns * double(width) * bytes;
    if (shape.element.isF32())
      added += rows * columns * std::max(0.0, double(width) / 16 - 1);
    work.issued += rows * columns * double(width) / 16 / 16 / 8 * 32 * (1 + 0.5 / together) *
                   products; // mma, and ldmatrix for two
    if (!tile.keepQueries)
      work.sharedTraffic += rows * double(width) * bytes;
  };
  for (const SharedTile &part : layout.content) {
    product(keys, part.width, all);
    copied += keys * double(part.width) * bytes;
  }
  int64_t width = layout.values.width;
  double ofScores = added;
  product(keys, width, all);
  added = ofScores; // of the values' product nothing: one multiply-add takes the place of the result's rescaling
  if (!tile.keepQueries)
    work.sharedTraffic -= rows * double(width) * bytes; // weights are always in registers
  copied += keys * double(width) * bytes;
  for (auto [term, part] : llvm::zip_equal(shape.bands, layout.bands)) {
    copied += (rows + keys) * double(part.window.width) * bytes;
    if (term.ofKey) {
      // 16 keys at a time meet the rows that all queries of the block reach; logits go through shared memory.
      work.matrixFlops += 2 * keys * (rows + 16) * double(part.window.width) * products;
      work.sharedTraffic += keys / 16 * (rows + 16) * double(part.window.width) * 2 * bytes;
      work.sharedTraffic += 4 * (keys * (rows + 16) + scores);
      work.issued += 8 * scores;
      if (!part.sharedWith)
        copied += keys * double(part.window.width) * bytes;
    } else {
      product(keys + 16, part.window.width, 1); // each tile of rows has a band of its own
      work.sharedTraffic += 4 * scores;         // a shuffle each
      work.issued += 5 * scores;
    }
  }
  // Terms of the values: a product each, of rows of the key or, after a shuffle for each weight, of the tile's offsets.
  for (double columns : {keys * double(shape.valueRows.size()), (rows + keys) * double(shape.valueBands.size())})
    copied += columns * double(width) * bytes;
  for (size_t term = 0; term < shape.valueRows.size(); ++term)
    product(keys, width, all);
  for (size_t term = 0; term < shape.valueBands.size(); ++term) {
    product(keys + 16, width, 1);
    work.sharedTraffic += 4 * scores;
    work.issued += 5 * scores;
  }
  work.issued += kStepIssued * 2 * rows;
  auto lines = double(layout.lines.size());
  double looked = 0; // a logit for each score; what a tile has for each query costs next to nothing
  for (const LookupTerm &term : shape.lookups)
    looked += lookupUse(term, shape.attention, tile.keys) == LookupUse::EachScore;
  work.sharedTraffic += 4 * scores * (looked + lines) + copied;
  work.globalTraffic = copied;
  work.exponentials = scores + 2 * rows * 4;
  size_t sums = shape.attention.content.size() + shape.bands.size();
  work.floats = kSoftmaxFloats * scores + rows * double(width) + scores * (looked + 2 * double(shape.elements.size())) +
                (sums > 1 ? scores : 0) + added;
  work.issued += work.floats + (kSoftmaxIssued - kSoftmaxFloats) * scores +
                 scores * (8.0 * looked + 20.0 * double(shape.elements.size()) +
                           10.0 * double(shape.attention.masks.size()) + lines);
  // Any other row of the values is read and added for each score.
  auto columns = double(tile.columnsOf(shape.attention.width));
  work.floats += scores * columns * double(shape.valueElements.size());
  work.issued += 2 * scores * columns * double(shape.valueElements.size());
  for (const ElementTerm &term : shape.elements)
    for (const auto &[axis, size] : term.contracted) {
      work.floats += scores * double(size);
      work.issued += scores * 10.0 * double(size);
    }
  // Functions of plugins: for each score, or for each offset of a line.
  auto apply = [&](const ElementTerm &term, double times) {
    if (!term.application)
      return;
    work.floats += times * term.application->function->flops();
    work.issued += times * term.application->function->flops();
  };
  for (const ElementTerm &term : shape.elements)
    apply(term, scores);
  for (const ElementTerm &term : shape.lines)
    apply(term, rows + keys);
  for (const GatedLine &term : shape.gatedLines)
    apply(term.line, rows + keys);
  return work;
}

GpuFootprint skewer::gpu::footprintOf(const GpuShape &shape, const GpuTile &tile) {
  GpuFootprint result;
  GpuLayout layout = layoutOf(shape, tile);
  result.sharedBytes = layout.bytes;
  // What ptxas takes of layers of one class each, 16 to 128 keys a step, 32 to 256 wide (sm_80, CUDA 13.0), to a fifth.
  const AttentionShape &attention = shape.attention;
  int64_t rowTiles = tile.rowTiles(), scores = rowTiles * (tile.keys / 8 * 4);
  int64_t output = rowTiles * (layout.values.width / 8 * 4), kept = 0, extra = 0, bands = 0;
  for (const GpuLayout::Queries &part : layout.queries)
    kept += rowTiles * (tile.keepQueries ? part.tile.width * elementBytes(shape) / 32 * 4 : 4);
  for (const BandTerm &term : shape.bands)
    bands = std::max<int64_t>(bands, term.ofKey ? 90 : scores + 8 + 22);
  // Weights, skewed weights as operands, and what a sum that is no number needs, beside the sums of the result.
  int64_t valueBands = shape.valueBands.empty() ? 0 : 5 * (scores + 8 + 22) / 2;
  auto isUse = [&](LookupUse use) {
    return llvm::any_of(shape.lookups,
                        [&](const LookupTerm &term) { return lookupUse(term, attention, tile.keys) == use; });
  };
  if (isUse(LookupUse::EachScore) || !shape.elements.empty() || !layout.lines.empty())
    extra += 18;
  if (isUse(LookupUse::EveryTile))
    extra += shape.element.isF32() ? 5 * scores / 2 : scores;
  if (attention.visible || !attention.masks.empty())
    extra += 45;
  if (shape.element.isF32()) {
    // Each fragment with what tf32 leaves of it. What is kept of the queries may be computed anew, of scores not all.
    result.registers =
        40 + 6 * scores + output + (tile.keepQueries ? 2 * kept : kept) + std::max(bands / 2, valueBands) + extra;
    result.needed = result.registers - 27 * scores / 10;
  } else {
    result.registers = 26 + scores + output + kept + std::max({bands, valueBands, scores / 2}) + extra;
    result.needed = result.registers;
  }
  if (!attention.masks.empty()) { // positions are computed for each score, and need not be all at once
    result.registers += 5 * scores;
    result.needed += 5 * scores / 2;
  }
  return result;
}

/// Steps of a block, on average: tiles of keys that a mask leaves.
static double stepsOf(const AttentionShape &attention, int64_t rows, int64_t keys) {
  if (attention.visible)
    if (auto counts = countTiles(attention, rows, keys))
      return double(counts->dead + counts->edge + counts->full - counts->skipped) /
             double(llvm::divideCeil(attention.queries, rows));
  return double(llvm::divideCeil(attention.keys, keys));
}

static GpuPrediction predict(const GpuShape &shape, const GpuTile &tile, const GpuMachine &machine, int64_t registers,
                             double steps) {
  GpuPrediction result;
  result.tile = tile;
  result.parts = tile.partsOf(shape.attention.width);
  result.footprint = footprintOf(shape, tile);
  if (registers)
    result.footprint.registers = registers;
  result.occupancy = occupancyOf(machine, tile.threads(), std::min(result.footprint.registers, kMostRegisters),
                                 result.footprint.sharedBytes);
  const AttentionShape &attention = shape.attention;
  result.steps = steps;
  // A product with 64 rows, without a softmax, and what it takes to store and to sort its numbers.
  for (const LookupTerm &term : shape.lookups)
    result.stepsBefore +=
        double(llvm::alignTo(reachedRows(term, attention, tile.rows), tile.tableRows())) / double(tile.keys);
  int64_t resident = std::max<int64_t>(1, result.occupancy.blocks);
  auto [cycles, bound] = cyclesTogether(stepWorkOf(shape, tile), tile, machine, resident);
  result.stepCycles = cycles / double(resident);
  result.bound = bound;
  return result;
}

GpuPrediction skewer::gpu::predict(const GpuShape &shape, const GpuTile &tile, const GpuMachine &machine,
                                   int64_t registers) {
  return ::predict(shape, tile, machine, registers, stepsOf(shape.attention, tile.rows, tile.keys));
}

double skewer::gpu::secondsOn(const GpuShape &shape, const GpuPrediction &prediction, const GpuMachine &machine,
                              const GpuDevice &device) {
  double leading = 1;
  for (const std::string &axis : shape.attention.space.leading)
    if (int64_t size = shape.attention.space.sizes.at(axis); size != subscript::kRuntime)
      leading *= double(size);
  const GpuTile &tile = prediction.tile;
  auto blocks = int64_t(leading) * int64_t(llvm::divideCeil(shape.attention.queries, tile.rows)) * prediction.parts;
  int64_t resident = std::max<int64_t>(1, prediction.occupancy.blocks), atOnce = resident * device.processors;
  GpuStepWork work = stepWorkOf(shape, tile);
  double cycles = double(blocks / atOnce) * cyclesTogether(work, tile, machine, resident).first;
  if (int64_t rest = blocks % atOnce)
    cycles += cyclesTogether(work, tile, machine, int64_t(llvm::divideCeil(rest, device.processors))).first;
  return cycles * (prediction.steps + prediction.stepsBefore + 1) /
         (device.gigahertz * 1e9); // a step's time for what comes before and after
}

/// What is only done where nothing else fits, whatever the model says: its figures for these are not tried.
static bool isLastResort(const GpuPrediction &p) { return p.tile.isSingleBuffered() || p.parts > 1; }

/// Where the best may spill: one that is nearly as good and takes the fewest registers comes first.
static void preferLean(std::vector<GpuPrediction> &candidates) {
  const GpuPrediction &best = candidates.front();
  if (best.footprint.needed <= kSafeRegisters)
    return;
  auto lean = candidates.begin();
  for (auto other = candidates.begin(); other != candidates.end(); ++other)
    if (other->footprint.needed < lean->footprint.needed && isLastResort(*other) == isLastResort(best) &&
        other->cyclesPerRow() <= kNearlyEqual * best.cyclesPerRow())
      lean = other;
  std::rotate(candidates.begin(), lean, lean + 1);
}

std::vector<GpuPrediction> skewer::gpu::candidatesOf(const GpuShape &shape, const GpuMachine &machine,
                                                     const GpuRequest &request) {
  auto choices = [](int64_t asked, std::initializer_list<int64_t> all) {
    return asked ? std::vector<int64_t>{asked} : std::vector<int64_t>(all);
  };
  int64_t most = 0; // widths of the queries: more than 128 elements would take half of a thread's registers
  for (const GpuLayout::Queries &part : layoutOf(shape, {}).queries)
    most += part.tile.width;
  // Few columns are not worth computing the weights again.
  constexpr int64_t kLeastColumns = 32;
  std::vector<int64_t> columns;
  int64_t width = shape.attention.width;
  if (request.columns || width <= kMostColumns)
    columns.push_back(request.columns);
  for (int64_t parts = 2; parts <= kMostParts && !request.columns; parts *= 2) {
    auto part = int64_t(llvm::alignTo(llvm::divideCeil(width, parts), 16));
    if (part >= kLeastColumns && part <= kMostColumns && part < width)
      columns.push_back(part);
  }
  std::vector<GpuPrediction> found, tooLarge;
  auto consider = [&](const GpuTile &tile, double steps) {
    if (request.keepQueries ? tile.keepQueries != *request.keepQueries : tile.keepQueries && most > 128)
      return;
    GpuPrediction candidate = ::predict(shape, tile, machine, /*registers=*/0, steps);
    (candidate.footprint.sharedBytes <= machine.blockSharedBytes ? found : tooLarge).push_back(candidate);
  };
  for (int64_t rows : choices(request.rows, {128, 64, 32, 16}))
    for (int64_t keys : choices(request.keys, {128, 64, 32, 16})) {
      double steps = stepsOf(shape.attention, rows, keys); // looks at each pair of positions
      for (int64_t stages : choices(request.stages, {1, 2, 3}))
        for (int64_t part : columns)
          for (bool keep : {true, false})
            for (int64_t warpRows : choices(request.warpRows, {16, 32}))
              if (rows % warpRows == 0)
                consider({rows, keys, stages, keep, part, warpRows}, steps);
    }
  if (found.empty()) {
    auto least = std::min_element(tooLarge.begin(), tooLarge.end(), [](const auto &a, const auto &b) {
      return a.footprint.sharedBytes < b.footprint.sharedBytes;
    });
    return {*least};
  }
  // Between equals the smaller one, which assembles faster.
  auto cost = [](const GpuPrediction &p) {
    bool spills = p.footprint.needed > kMostRegisters;
    double size = double(p.tile.rows * p.tile.keys * p.tile.stages);
    return std::tuple(spills, isLastResort(p), spills ? double(p.footprint.needed) : p.cyclesPerRow(), size,
                      p.tile.rows, p.tile.warpRows, !p.tile.keepQueries, p.parts);
  };
  std::sort(found.begin(), found.end(),
            [&](const GpuPrediction &a, const GpuPrediction &b) { return cost(a) < cost(b); });
  if (shape.element.isF32())
    preferLean(found);
  // Whoever asks for the next one has seen registers spilled: it takes fewer.
  std::vector<GpuPrediction> result;
  for (const GpuPrediction &candidate : found)
    if (result.empty() || candidate.footprint.needed < result.back().footprint.needed)
      result.push_back(candidate);
  // The guess is one: last comes the smallest there is, one warp with single-buffered operands.
  auto smallest = std::find_if(found.rbegin(), found.rend(), [&](const GpuPrediction &candidate) {
    return candidate.tile == GpuTile{16, 16, 1, false, columns.back()};
  });
  if (smallest != found.rend() && !(result.back().tile == smallest->tile))
    result.push_back(*smallest);
  return result;
}
