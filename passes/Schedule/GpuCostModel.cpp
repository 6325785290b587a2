// The GPU cost model: how the work of a step falls on a multiprocessor's pipes, how that of resident blocks overlaps,
// and which tile is the fastest by it.
#include "passes/Schedule/GpuCostModel.h"
#include "passes/Analysis/GpuLayout.h"
#include "passes/Schedule/GpuEngine.h"
#include "passes/Schedule/Prediction.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace skewer;
using namespace skewer::gpu;

// Of the bench layers in f32, for four targets, three in four that were guessed to need more registers than this
// spilled some. What takes fewer, and is predicted to cost no more than so many times as much, goes before them: the
// prediction is no more exact than that.
static constexpr int64_t kSafeRegisters = 206;
static constexpr double kNearlyEqual = 1.05;
// Copies of what a step reads that are tried.
static constexpr int64_t kStages[] = {1, 2, 3};
// Parts of the keys that are tried, and the fewest keys of one: what a part leaves of each row is as long as two rows
// of f32 values, written and read again.
static constexpr int64_t kKeyParts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
static constexpr int64_t kLeastKeysOfPart = 128;
// From the end of the parts to the end of what joins them: a second kernel on the same stream. An estimate: an H200
// took 7.4 us for 32 parts whose reads waited for each other. Parts are only made where the model says that they save
// more than it is exact to.
static constexpr double kJoinSeconds = 3e-6, kWorthParts = 0.9;

namespace {

/// How the work of a step falls on a multiprocessor's pipes. They add up as the square root of the sum of squares:
/// several warps overlap what goes to different pipes, though not wholly. A maximum would be full overlap, a sum none.
class StepTime {
public:
  StepTime(const GpuStepWork &work, const GpuTile &tile, const GpuMachine &machine)
      : work(work), tile(tile), machine(machine) {}

  /// Of each pipe, in clocks, if all four schedulers have warps.
  std::vector<PipeTime> pipesOf(const GpuPipes &done) const {
    return {{"tensor cores", done.matrixFlops / machine.engineFlops(tile.engine)},
            {"special functions", done.specials / machine.specials},
            {"f32 arithmetic", done.floats / machine.floats},
            {"integers", done.integers / machine.integers},
            {"instructions", done.issued / machine.issued},
            {"shared memory", done.sharedTraffic / machine.sharedTraffic},
            {"second-level cache", done.l2Traffic / machine.l2Traffic}};
  }

  /// Clocks for one step of each of `blocks` resident blocks, and what bounds them. Warps of one block overlap like
  /// those of two.
  std::pair<double, const char *> together(int64_t blocks) const {
    std::vector<PipeTime> pipes = pipesOf(work.all());
    double warps = double(blocks * tile.warps());
    double all = double(blocks) * rootOfSquares(pipes, std::max(1.0, kSchedulers / warps));
    // One warp by itself: its products and its scores follow each other. Copies are on their way meanwhile.
    double share = kSchedulers / double(tile.warps());
    double waits = tile.isSingleBuffered() ? work.operands : 0;
    double alone = rootOfSquares(ownPipes(work.products), share) + rootOfSquares(ownPipes(work.scores), share) +
                   machine.stepLatency * (1 + waits);
    if (alone > all)
      return {alone, "latency"};
    return {all, longest(pipes).pipe};
  }

private:
  static constexpr double kSchedulers = 4; // of a multiprocessor; each has a quarter of every pipe but memory's

  static const PipeTime &longest(const std::vector<PipeTime> &pipes) {
    return *std::max_element(pipes.begin(), pipes.end(),
                             [](const PipeTime &a, const PipeTime &b) { return a.cycles < b.cycles; });
  }
  std::vector<PipeTime> ownPipes(GpuPipes done) const {
    done.l2Traffic = 0;
    return pipesOf(done);
  }
  /// `share`: how many times as long it takes where only some schedulers have warps.
  static double rootOfSquares(const std::vector<PipeTime> &pipes, double share) {
    double squares = 0;
    for (const PipeTime &pipe : pipes)
      squares += pipe.cycles * pipe.cycles;
    return std::sqrt(squares) * share;
  }

  const GpuStepWork &work;
  const GpuTile &tile;
  const GpuMachine &machine;
};

/// Of what is multiplied.
int64_t elementBytes(const GpuShape &shape) { return shape.element.isF32() ? 4 : 2; }

} // namespace

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
  if (attention.bounds.tiles)
    return attention.bounds.tiles->liveShare(rows, keys) * double(llvm::divideCeil(attention.keys, keys));
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
  result.steps = tile.keyParts == 1 ? steps : std::ceil(steps / double(tile.keyParts));
  // A product with 64 rows, without a softmax, and what it takes to store and to sort its numbers.
  for (const LookupTerm &term : shape.lookups)
    result.stepsBefore +=
        double(llvm::alignTo(reachedRows(term, attention, tile.rows), tile.tableRows())) / double(tile.keys);
  int64_t resident = std::max<int64_t>(1, result.occupancy.blocks);
  GpuStepWork work = stepWorkOf(shape, tile);
  StepTime time(work, tile, machine);
  auto [cycles, bound] = time.together(resident);
  result.work = work.all();
  result.pipes = time.pipesOf(result.work);
  result.stepCycles = cycles / double(resident);
  result.bound = bound;
  double blocks = double(llvm::divideCeil(attention.queries, tile.rows)) * double(result.parts * tile.keyParts);
  result.cyclesPerQuery = (result.steps + result.stepsBefore) * result.stepCycles * blocks / double(attention.queries);
  return result;
}

GpuPrediction skewer::gpu::predict(const GpuShape &shape, const GpuTile &tile, const GpuMachine &machine,
                                   int64_t registers) {
  return ::predict(shape, tile, machine, registers, stepsOf(shape.attention, tile.rows, tile.keys));
}

/// How many attentions of its own queries and keys a call computes: run-time sizes count as 1.
static int64_t leadingOf(const AttentionShape &attention) {
  int64_t leading = 1;
  for (const std::string &axis : attention.space.leading)
    if (int64_t size = attention.space.sizes.at(axis); size != subscript::kRuntime)
      leading *= size;
  return leading;
}

static bool hasRuntimeSizes(const AttentionShape &attention) {
  return llvm::any_of(attention.space.leading,
                      [&](const std::string &axis) { return attention.space.sizes.at(axis) == subscript::kRuntime; });
}

/// Clocks of a call on a device.
static double cyclesOn(const GpuShape &shape, const GpuPrediction &prediction, const GpuMachine &machine,
                       const GpuDevice &device) {
  const GpuTile &tile = prediction.tile;
  int64_t leading = leadingOf(shape.attention);
  int64_t blocks =
      leading * int64_t(llvm::divideCeil(shape.attention.queries, tile.rows)) * prediction.parts * tile.keyParts;
  int64_t resident = std::max<int64_t>(1, prediction.occupancy.blocks), atOnce = resident * device.processors;
  GpuStepWork work = stepWorkOf(shape, tile);
  StepTime time(work, tile, machine);
  double cycles = double(blocks / atOnce) * time.together(resident).first;
  if (int64_t rest = blocks % atOnce)
    cycles += time.together(int64_t(llvm::divideCeil(rest, device.processors))).first;
  cycles *= prediction.steps + prediction.stepsBefore + 1; // a step's time for what comes before and after
  if (tile.keyParts == 1)
    return cycles;
  // What parts leave is written and read once.
  double numbers = double(leading * tile.keyParts * shape.attention.queries * (shape.attention.width + 2));
  return cycles + kJoinSeconds * device.gigahertz * 1e9 +
         2 * 4 * numbers / (machine.l2Traffic * double(device.processors));
}

double skewer::gpu::secondsOn(const GpuShape &shape, const GpuPrediction &prediction, const GpuMachine &machine,
                              const GpuDevice &device) {
  return cyclesOn(shape, prediction, machine, device) / (device.gigahertz * 1e9);
}

std::string skewer::gpu::whyNotInParts(const GpuShape &shape, const GpuTile &tile, int64_t parts) {
  const AttentionShape &attention = shape.attention;
  if (parts < 1)
    return "there is at least one";
  if (attention.queries > tile.rows)
    return "that is for blocks that have all queries: " + std::to_string(attention.queries) + " are more than " +
           std::to_string(tile.rows) + " rows";
  if (auto most = int64_t(llvm::divideCeil(attention.keys, tile.keys)); parts > most)
    return std::to_string(attention.keys) + " keys are " + std::to_string(most) + " steps of " +
           std::to_string(tile.keys);
  return "";
}

/// In how many parts the keys are divided: as asked where that can be, else the fewest that are about as fast as any,
/// of a call with every run-time size 1.
static int64_t keyPartsOf(const GpuShape &shape, GpuTile tile, const GpuMachine &machine, const GpuRequest &request,
                          double steps, llvm::ArrayRef<GpuDevice> devices) {
  if (request.keyParts)
    return skewer::gpu::whyNotInParts(shape, tile, request.keyParts).empty() ? request.keyParts : 1;
  int64_t most = shape.attention.keys / kLeastKeysOfPart;
  if (devices.empty() || most < kKeyParts[0] || !skewer::gpu::whyNotInParts(shape, tile, kKeyParts[0]).empty())
    return 1;
  auto cyclesIn = [&](int64_t parts) {
    tile.keyParts = parts;
    return cyclesOn(shape, ::predict(shape, tile, machine, /*registers=*/0, steps), machine, devices.front());
  };
  int64_t best = 1;
  double least = kWorthParts * cyclesIn(1);
  for (int64_t parts : kKeyParts)
    if (parts <= most && parts <= int64_t(llvm::divideCeil(shape.attention.keys, tile.keys)))
      if (double cycles = cyclesIn(parts); cycles < least)
        best = parts, least = cycles;
  return best;
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
        other->cyclesPerQuery <= kNearlyEqual * best.cyclesPerQuery)
      lean = other;
  std::rotate(candidates.begin(), lean, lean + 1);
}

/// Whether tiles of so many keys lie across the pages of a cache, though pages could be divided into tiles.
static bool crossesPages(const GpuShape &shape, int64_t keys) {
  constexpr int64_t kLeastTile = 16;
  auto crosses = [&](const Walk &walk) { return walk.picked && walk.run % kLeastTile == 0 && walk.run % keys; };
  return crosses(shape.attention.value) ||
         llvm::any_of(shape.attention.content, [&](const ContentTerm &term) { return crosses(term.key); });
}

static std::vector<int64_t> choices(int64_t asked, llvm::ArrayRef<int64_t> all) {
  return asked ? std::vector<int64_t>{asked} : all.vec();
}

/// The machine's engines, each with the rows that are tried.
static std::vector<std::pair<const GpuEngine *, int64_t>> rowsOf(const GpuMachine &machine, const GpuRequest &request) {
  std::vector<std::pair<const GpuEngine *, int64_t>> all;
  for (const GpuEngine *engine : gpuEngines())
    if (engine->fits(machine))
      for (int64_t rows : choices(request.rows, engine->rows()))
        all.emplace_back(engine, rows);
  return all;
}

std::vector<GpuPrediction> skewer::gpu::candidatesOf(const GpuShape &shape, const GpuMachine &machine,
                                                     const GpuRequest &request) {
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
  // With a batch that is known at run time alone, a device is taken to be full.
  std::vector<GpuDevice> devices = gpuDevicesOf(machine.target);
  bool isFull = devices.empty() || hasRuntimeSizes(shape.attention);
  std::vector<GpuPrediction> found, tooLarge, undivided; // the last: not in the parts that are asked for
  auto consider = [&](GpuTile tile, double steps) {
    if (request.keepQueries ? tile.keepQueries != *request.keepQueries : tile.keepQueries && most > 128)
      return;
    tile.keyParts = keyPartsOf(shape, tile, machine, request, steps, devices);
    GpuPrediction candidate = ::predict(shape, tile, machine, /*registers=*/0, steps);
    if (!isFull)
      candidate.cyclesPerQuery = cyclesOn(shape, candidate, machine, devices.front()) *
                                 double(devices.front().processors) /
                                 double(leadingOf(shape.attention) * shape.attention.queries);
    bool fits = candidate.footprint.sharedBytes <= machine.blockSharedBytes;
    (tile.keyParts < request.keyParts ? undivided : fits ? found : tooLarge).push_back(candidate);
  };
  for (auto [engine, rows] : rowsOf(machine, request))
    for (int64_t keys : choices(request.keys, engine->keys())) {
      if (!request.keys && crossesPages(shape, keys))
        continue;
      double steps = stepsOf(shape.attention, rows, keys); // looks at each pair of positions
      for (int64_t stages : choices(request.stages, kStages))
        for (int64_t part : columns)
          for (bool keep : {true, false})
            for (int64_t warpRows : choices(request.warpRows, engine->warpRows()))
              if (rows % warpRows == 0)
                consider({rows, keys, stages, keep, part, warpRows, engine->name()}, steps);
    }
  if (found.empty() && tooLarge.empty()) // whoever asked says so
    found = std::move(undivided);
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
    return std::tuple(spills, isLastResort(p), spills ? double(p.footprint.needed) : p.cyclesPerQuery, size,
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
    GpuTile whole = candidate.tile;
    whole.keyParts = 1;
    return whole == GpuTile{16, 16, 1, false, columns.back()};
  });
  if (smallest != found.rend() && !(result.back().tile == smallest->tile))
    result.push_back(*smallest);
  return result;
}

std::vector<GpuPrediction> skewer::gpu::bestByWarpRows(const GpuShape &shape, const GpuMachine &machine,
                                                       GpuRequest request) {
  std::vector<GpuPrediction> best;
  if (request.warpRows)
    return best;
  std::set<int64_t> all;
  for (auto [engine, rows] : rowsOf(machine, request))
    all.insert(engine->warpRows().begin(), engine->warpRows().end());
  for (int64_t warpRows : all) {
    request.warpRows = warpRows;
    GpuPrediction first = candidatesOf(shape, machine, request).front();
    if (first.tile.warpRows == warpRows && first.footprint.needed <= kMostRegisters &&
        first.footprint.sharedBytes <= machine.blockSharedBytes)
      best.push_back(std::move(first));
  }
  return best;
}
