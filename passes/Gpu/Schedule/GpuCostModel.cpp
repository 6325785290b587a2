// The GPU cost model: the time of a step on each pipe of a multiprocessor, the overlap of resident blocks, and the
// choice of the fastest tile.
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Analysis/TileCounts.h"
#include "passes/Gpu/Schedule/GpuEngine.h"
#include "passes/Gpu/Shape/GpuLayout.h"
#include "passes/Gpu/Shape/RingRegisters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace skewer;
using namespace skewer::gpu;

// For bench layers in f32 on four targets, three in four of the tiles estimated to need more registers than
// kSafeRegisters spilled. A tile that needs fewer goes before them if its predicted cost is at most kNearlyEqual times
// as high, which is the accuracy of the prediction.
static constexpr int64_t kSafeRegisters = 206;
static constexpr double kNearlyEqual = 1.05;
// The numbers of copies of a step's operands that are tried.
static constexpr int64_t kStages[] = {1, 2, 3};
// The numbers of key parts that are tried, and the fewest keys of a part. The partial result of a part takes as many
// bytes for each row as two rows of f32 values, written and read again.
static constexpr int64_t kKeyParts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
static constexpr int64_t kLeastKeysOfPart = 128;
// The time from the end of the parts to the end of the kernel that joins them, a second kernel on the same stream. It
// is an estimate: an H200 took 7.4 us for 32 parts whose reads waited for each other. Keys are divided only if the
// predicted time falls below the share kWorthParts, since smaller gains are within the error of the model.
static constexpr double kJoinSeconds = 3e-6, kWorthParts = 0.9;

namespace {

/// The time of a step on the pipes of a multiprocessor. The times of the pipes add up as the square root of the sum of
/// squares, since several warps overlap the work of different pipes, but not completely. A maximum would mean full
/// overlap, a sum no overlap.
class StepTime {
public:
  StepTime(const GpuStepWork &work, const GpuTile &tile, const GpuMachine &machine)
      : work(work), tile(tile), machine(machine) {}

  /// Returns the time of each pipe in clocks, if all four schedulers have warps.
  std::vector<PipeTime> pipesOf(const GpuPipes &done) const {
    double warpFlops = machine.engineFlops(kMmaSync);
    return {{"tensor cores",
             done.matrixFlops / machine.engineFlops(tile.engine) + (warpFlops ? done.warpFlops / warpFlops : 0)},
            {"special functions", done.specials / machine.specials},
            {"f32 arithmetic", done.floats / machine.floats},
            {"integers", done.integers / machine.integers},
            {"instructions", done.issued / machine.issued},
            {"shared memory", done.sharedTraffic / machine.sharedTraffic},
            {"second-level cache", done.l2Traffic / machine.l2Traffic}};
  }

  /// Returns the clocks for one step of each of `blocks` resident blocks, and the bound. Warps of one block overlap in
  /// the same way as warps of two blocks.
  std::pair<double, const char *> together(int64_t blocks) const {
    std::vector<PipeTime> pipes = pipesOf(work.all());
    double warps = double(blocks * tile.warps());
    double all = double(blocks) * rootOfSquares(pipes, std::max(1.0, kSchedulers / warps));
    // In one warp alone, products and scores run one after the other. Copies overlap with both.
    double share = kSchedulers / double(tile.warps());
    double waits = tile.isSingleBuffered() ? work.operands : 0;
    double products = rootOfSquares(ownPipes(work.products), share),
           scores = rootOfSquares(ownPipes(work.scores), share);
    double alone = products + scores + machine.stepLatency * (1 + waits);
    if (tile.facts().producers)
      return inRing(products, scores, all, longest(pipes).pipe);
    if (alone > all)
      return {alone, "latency"};
    return {all, longest(pipes).pipe};
  }

private:
  /// Returns the clocks of a step of a block with producers. Its warpgroups wait for nothing but tiles, so that the
  /// time of one of them and the time of the pipes blend where they are near. The constants are those with which the
  /// model is within 10 % of an H200's times for heads of 64 and 128, 2 and 3 warpgroups, 64 and 128 keys
  /// (tests/bench/RESULTS.md).
  std::pair<double, const char *> inRing(double products, double scores, double all, const char *pipe) const {
    constexpr double kBlend = 4, kOverlap = 0.9, kOfBands = 1.15;
    bool hasBands = work.products.warpFlops > 0;
    bool overlaps = tile.facts().runsAhead && !hasBands;
    double alone = (overlaps ? std::max(products, scores) : products + scores) + machine.stepLatency;
    all *= kOverlap;
    // A band's products of single warps, and their skew, stand in the way of those that run ahead.
    if (tile.facts().runsAhead && hasBands)
      alone *= kOfBands, all *= kOfBands;
    return {std::pow(std::pow(alone, kBlend) + std::pow(all, kBlend), 1 / kBlend), alone > all ? "latency" : pipe};
  }

  static constexpr double kSchedulers = 4; // of a multiprocessor; each has a quarter of every pipe except memory

  static const PipeTime &longest(const std::vector<PipeTime> &pipes) {
    return *std::max_element(pipes.begin(), pipes.end(),
                             [](const PipeTime &a, const PipeTime &b) { return a.cycles < b.cycles; });
  }
  std::vector<PipeTime> ownPipes(GpuPipes done) const {
    done.l2Traffic = 0;
    return pipesOf(done);
  }
  /// Returns the combined time of the pipes. `share` is the factor by which it takes longer if only some schedulers
  /// have warps.
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

/// Returns the bytes of an element of the products.
int64_t elementBytes(const GpuShape &shape) { return shape.element.isF32() ? 4 : 2; }

} // namespace

GpuFootprint skewer::gpu::footprintOf(const GpuShape &shape, const GpuTile &tile) {
  GpuFootprint result;
  GpuLayout layout = layoutOf(shape, tile);
  result.sharedBytes = layout.bytes;
  RingRegisters moved = ringRegistersOf(tile);
  result.limit = moved.computing;
  // The formulas reproduce the registers that ptxas uses for layers of one class each, 16 to 128 keys per step, 32 to
  // 256 wide (sm_80, CUDA 13.0), within a fifth.
  const AttentionShape &attention = shape.attention;
  int64_t rowTiles = tile.rowTiles(), scores = rowTiles * (tile.keys / 8 * 4);
  int64_t output = rowTiles * (layout.values.width / 8 * 4), kept = 0, extra = 0, bands = 0;
  for (const GpuLayout::Queries &part : layout.queries)
    kept += rowTiles * (tile.keepQueries ? part.tile.width * elementBytes(shape) / 32 * 4 : 4);
  for (const BandTerm &term : shape.bands)
    bands = std::max<int64_t>(bands, term.ofKey ? 90 : scores + 8 + 22);
  // In addition to the sums of the result: weights, skewed weights as operands, and the registers for sums that are
  // NaN.
  int64_t valueBands = shape.valueBands.empty() ? 0 : 5 * (scores + 8 + 22) / 2;
  auto isUse = [&](LookupUse use) {
    return llvm::any_of(shape.lookups,
                        [&](const LookupTerm &term) { return lookupUse(term, attention, tile.keys) == use; });
  };
  if (isUse(LookupUse::EachScore) || !shape.elements.empty() || !layout.lines.empty())
    extra += 18;
  if (isUse(LookupUse::EveryTile)) {
    int64_t most = 0; // rows that repeat within a tile are held once
    for (const GpuLayout::Lookup &part : layout.lookups)
      if (part.use == LookupUse::EveryTile)
        most = std::max(most, rowTiles * (part.columns / 8 * 4));
    extra += shape.element.isF32() ? 5 * most / 2 : most;
  }
  // Kernels with producers test masks in branches of their own, and hold little for them across the loop.
  if (attention.visible || !attention.masks.empty())
    extra += tile.facts().producers ? 0 : 45;
  if (shape.element.isF32()) {
    // Each fragment is held with the rest that tf32 does not hold. The rests of held queries can be computed again,
    // those of scores only in part.
    result.registers =
        40 + 6 * scores + output + (tile.keepQueries ? 2 * kept : kept) + std::max(bands / 2, valueBands) + extra;
    result.needed = result.registers - 27 * scores / 10;
  } else {
    // wgmma rounds the weights in the registers of the scores, and has its operands in shared memory.
    bool isRing = tile.facts().producers;
    int64_t weights = isRing && !tile.facts().runsAhead ? 4 : scores / 2;
    result.registers = (isRing ? 32 : 26 + kept) + scores + output + std::max({bands, valueBands, weights}) + extra;
    result.needed = result.registers;
  }
  if (!attention.masks.empty() &&
      !tile.facts().producers) { // positions are computed for each score, but not all must be held at once
    result.registers += 5 * scores;
    result.needed += 5 * scores / 2;
  }
  if (moved.move) // the block begins with as many for each thread
    result.registers = moved.entry;
  return result;
}

/// Returns the average steps of a block: the tiles of keys that a mask leaves.
static double stepsOf(const AttentionShape &attention, int64_t rows, int64_t keys) {
  if (attention.bounds.tiles)
    return attention.bounds.tiles->liveShare(rows, keys) * double(llvm::divideCeil(attention.keys, keys));
  if (attention.visible)
    if (auto counts = countTiles(attention, rows, keys))
      return double(counts->dead + counts->edge + counts->full - counts->skipped) /
             double(llvm::divideCeil(attention.queries, rows));
  return double(llvm::divideCeil(attention.keys, keys));
}

/// Returns the clocks of a block before its first step and after its last one, beyond those of a step, that no other
/// block on the multiprocessor hides.
static double beginningOf(const GpuTile &tile) {
  // Of a block with producers, alone on its multiprocessor: its barriers, the copies of queries and of the first keys
  // that wait for each other, and the result.
  constexpr double kClocksOfRing = 2000;
  return tile.facts().producers ? kClocksOfRing : 0;
}

static GpuPrediction predict(const GpuShape &shape, const GpuTile &tile, const GpuMachine &machine, int64_t registers,
                             double steps) {
  GpuPrediction result;
  result.tile = tile;
  result.parts = tile.partsOf(shape.attention.width);
  result.footprint = footprintOf(shape, tile);
  if (registers)
    result.footprint.registers = registers;
  result.occupancy = occupancyOf(machine, tile.blockThreads(), std::min(result.footprint.registers, kMostRegisters),
                                 result.footprint.sharedBytes);
  const AttentionShape &attention = shape.attention;
  result.steps = tile.keyParts == 1 ? steps : std::ceil(steps / double(tile.keyParts));
  // A step is a product with 64 rows, without a softmax, but with the time to store and sort its numbers.
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
  result.stepsBefore += beginningOf(tile) / (result.stepCycles * double(resident));
  result.cyclesPerQuery = (result.steps + result.stepsBefore) * result.stepCycles * blocks / double(attention.queries);
  return result;
}

GpuPrediction skewer::gpu::predict(const GpuShape &shape, const GpuTile &tile, const GpuMachine &machine,
                                   int64_t registers) {
  return ::predict(shape, tile, machine, registers, stepsOf(shape.attention, tile.rows, tile.keys));
}

/// Returns the number of attentions (leading indices) that a call computes; run-time sizes count as 1.
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

/// Returns the clocks of a call on a device.
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
  cycles *= prediction.steps + prediction.stepsBefore + 1; // one more step for the code before and after the loop
  if (tile.keyParts == 1)
    return cycles;
  // The partial results of the parts are written and read once.
  double numbers = double(leading * tile.keyParts * shape.attention.queries * (shape.attention.width + 2));
  return cycles + kJoinSeconds * device.gigahertz * 1e9 +
         2 * 4 * numbers / (machine.l2Traffic * double(device.processors));
}

double skewer::gpu::secondsOn(const GpuShape &shape, const GpuPrediction &prediction, const GpuMachine &machine,
                              const GpuDevice &device) {
  return cyclesOn(shape, prediction, machine, device) / (device.gigahertz * 1e9);
}

std::optional<Refusal> skewer::gpu::refuseParts(const GpuShape &shape, const GpuTile &tile, int64_t parts) {
  const AttentionShape &attention = shape.attention;
  if (parts < 1)
    return Refusal{"there is at least one"};
  if (attention.queries > tile.rows)
    return Refusal{"that is for blocks that have all queries: " + std::to_string(attention.queries) +
                   " are more than " + std::to_string(tile.rows) + " rows"};
  if (auto most = int64_t(llvm::divideCeil(attention.keys, tile.keys)); parts > most)
    return Refusal{std::to_string(attention.keys) + " keys are " + std::to_string(most) + " steps of " +
                   std::to_string(tile.keys)};
  return std::nullopt;
}

/// Returns the number of parts into which the keys are divided: as requested, if possible; else the fastest number, but
/// 1 unless parts are clearly faster, for a call with every run-time size 1.
static int64_t keyPartsOf(const GpuShape &shape, GpuTile tile, const GpuMachine &machine, const GpuRequest &request,
                          double steps, llvm::ArrayRef<GpuDevice> devices) {
  if (request.keyParts)
    return skewer::gpu::refuseParts(shape, tile, request.keyParts) ? 1 : request.keyParts;
  int64_t most = shape.attention.keys / kLeastKeysOfPart;
  if (devices.empty() || most < kKeyParts[0] || skewer::gpu::refuseParts(shape, tile, kKeyParts[0]))
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

/// Returns whether a candidate is used only if nothing else fits. The model's predictions for these are not tested.
static bool isLastResort(const GpuPrediction &p) { return p.tile.isSingleBuffered() || p.parts > 1; }

/// If the best candidate may spill, moves the one that needs the fewest registers among nearly equal ones to the front.
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

/// Returns whether tiles of `keys` keys cross the pages of a cache although smaller tiles would divide the pages.
static bool crossesPages(const GpuShape &shape, int64_t keys) {
  constexpr int64_t kLeastTile = 16;
  auto crosses = [&](const Walk &walk) { return walk.picked && walk.run % kLeastTile == 0 && walk.run % keys; };
  return crosses(shape.attention.value) ||
         llvm::any_of(shape.attention.content, [&](const ContentTerm &term) { return crosses(term.key); });
}

static std::vector<int64_t> choices(int64_t asked, llvm::ArrayRef<int64_t> all) {
  return asked ? std::vector<int64_t>{asked} : all.vec();
}

/// Returns the engines of the machine, each with the numbers of rows that are tried.
static std::vector<std::pair<const GpuEngine *, int64_t>> rowsOf(const GpuMachine &machine, const GpuRequest &request) {
  std::vector<std::pair<const GpuEngine *, int64_t>> all;
  for (const GpuEngine *engine : gpuEngines())
    if (engine->fits(machine) && (request.engine.empty() || request.engine == engine->name()))
      for (int64_t rows : choices(request.rows, engine->rows()))
        all.emplace_back(engine, rows);
  return all;
}

std::vector<GpuPrediction> skewer::gpu::candidatesOf(const GpuShape &shape, const GpuMachine &machine,
                                                     const GpuRequest &request) {
  int64_t most = 0; // width of all queries: more than 128 elements would take half of a thread's registers
  for (const GpuLayout::Queries &part : layoutOf(shape, {}).queries)
    most += part.tile.width;
  // With fewer columns, it does not pay off to compute the weights again.
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
  // With a batch that is known only at run time, the model assumes a full device.
  std::vector<GpuDevice> devices = gpuDevicesOf(machine.target);
  bool isFull = devices.empty() || hasRuntimeSizes(shape.attention);
  std::vector<GpuPrediction> found, tooLarge, undivided; // `undivided`: cannot have the requested key parts
  auto consider = [&](GpuTile tile, double steps) {
    if (request.keepQueries ? tile.keepQueries != *request.keepQueries : tile.keepQueries && most > 128)
      return;
    tile.copies = request.copies == kTma ? kTma : kCpAsync;
    tile.handsOverApart = tile.copies == kTma;
    if (findGpuEngine(tile.engine)->refuse(shape, tile) || refuseBoxes(shape, tile))
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
  if (found.empty() && tooLarge.empty()) // the caller that requested the parts reports it
    found = std::move(undivided);
  if (found.empty() && tooLarge.empty()) // a pinned engine has no code for any of these tiles
    return {};
  if (found.empty()) {
    auto least = std::min_element(tooLarge.begin(), tooLarge.end(), [](const auto &a, const auto &b) {
      return a.footprint.sharedBytes < b.footprint.sharedBytes;
    });
    return {*least};
  }
  // Between equal candidates, the smaller one comes first, since it assembles faster.
  auto cost = [](const GpuPrediction &p) {
    bool spills = p.footprint.needed > p.footprint.limit;
    double size = double(p.tile.rows * p.tile.keys * p.tile.stages);
    return std::tuple(spills, isLastResort(p), spills ? double(p.footprint.needed) : p.cyclesPerQuery, size,
                      p.tile.rows, p.tile.warpRows, !p.tile.keepQueries, p.parts);
  };
  std::sort(found.begin(), found.end(),
            [&](const GpuPrediction &a, const GpuPrediction &b) { return cost(a) < cost(b); });
  if (shape.element.isF32())
    preferLean(found);
  // A caller asks for the next candidate if registers were spilled, so each candidate leaves more of them than the one
  // before.
  auto left = [](const GpuPrediction &p) { return p.footprint.limit - p.footprint.needed; };
  std::vector<GpuPrediction> result;
  for (const GpuPrediction &candidate : found)
    if (result.empty() || left(candidate) > left(result.back()))
      result.push_back(candidate);
  // The registers are only estimated, so the smallest tile comes last: one warp with single-buffered operands.
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
    std::vector<GpuPrediction> candidates = candidatesOf(shape, machine, request);
    if (candidates.empty())
      continue;
    GpuPrediction first = std::move(candidates.front());
    if (first.tile.warpRows == warpRows && first.footprint.needed <= first.footprint.limit &&
        first.footprint.sharedBytes <= machine.blockSharedBytes)
      best.push_back(std::move(first));
  }
  return best;
}
