// Places the results of stages in the shared workspace. Buffers that are not live at the same time share memory, so
// that a kernel needs little of it. Part of the class Kernel.
#include "dialect/IR/Reductions.h"
#include "dialect/IR/TextPlace.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "passes/Generic/Kernel.h"
#include "passes/Stages/PrefixSum.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

namespace {
constexpr int64_t kMostBytes = int64_t(1) << 56;
constexpr const char *kTooLarge = "an intermediate tensor is too large to address";

/// The live range of a buffer, and its place once that is found.
struct Interval {
  Place *place;
  int64_t bytes;     // a multiple of 64; for a scaled place, times the product of the run-time sizes
  size_t begin, end; // the first and the last stage
};

/// Sets the lowest offsets at which buffers that are live at the same time do not overlap; returns the bytes needed.
int64_t placeAll(std::vector<Interval> &intervals, bool scaled) {
  int64_t total = 0;
  std::vector<const Interval *> placed;
  for (Interval &interval : intervals) {
    if (interval.place->scaled != scaled)
      continue;
    std::vector<const Interval *> others;
    for (const Interval *other : placed)
      if (other->begin <= interval.end && interval.begin <= other->end)
        others.push_back(other);
    llvm::sort(others, [](const Interval *a, const Interval *b) { return a->place->offset < b->place->offset; });
    int64_t &offset = interval.place->offset;
    for (const Interval *other : others)
      if (offset + interval.bytes > other->place->offset && other->place->offset + other->bytes > offset)
        offset = other->place->offset + other->bytes;
    total = std::max(total, offset + interval.bytes);
    placed.push_back(&interval);
  }
  return total;
}

} // namespace

bool Kernel::planBuffers() {
  // A buffer is live until the last stage that reads it, directly or through operations that are computed when read.
  llvm::DenseMap<Value, size_t> lastUse;
  for (auto [number, stage] : llvm::enumerate(stages))
    for (Value read : tensors.readsOf(stage))
      lastUse[memoryOf(read)] = number;
  std::vector<Interval> intervals;
  std::map<std::string, int> powers; // how often each run-time size is a factor
  auto multiply = [&](int64_t &bytes, ArrayRef<Extent> extents, std::map<std::string, int> &counts) {
    for (const Extent &extent : extents)
      if (auto most = plan.boundOf(extent); !most)
        powers[extent.name] = std::max(powers[extent.name], ++counts[extent.name]);
      else if (__builtin_mul_overflow(bytes, *most, &bytes) || bytes > kMostBytes)
        return false;
    return true;
  };
  auto takePrepared = [&](int64_t bytes) {
    Place place{plan.preparedBytes, false, true};
    plan.preparedBytes += static_cast<int64_t>(llvm::alignTo(bytes, 64));
    return place;
  };
  for (auto [number, stage] : llvm::enumerate(stages)) {
    StagePlan described{nameOf(stage.kind), attn::textPlaceOf(stage.result.getLoc()).lineOfSpec(), {}};
    if (stage.result.getDefiningOp<attn::LogSumExpOp>())
      described.title = "logsumexp";
    if (auto extremum = stage.result.getDefiningOp<attn::ExtremumOp>())
      described.title = extremum.getLeast() ? "least element" : "largest element";
    if (auto einsum = stage.result.getDefiningOp<attn::EinsumOp>();
        einsum && stage.kind == StageKind::Einsum && prefixSumOf(einsum))
      described.title = "running sum";
    OwnMemory own = ownMemory(stage);
    if (own.title)
      described.title = own.title;
    for (auto [place, bytes, times, isPrepared] : own.shared) {
      std::map<std::string, int> counts;
      if (!bytes)
        continue;
      if (isPrepared) {
        *place = takePrepared(bytes);
        continue;
      }
      if (!multiply(bytes, times, counts))
        return fail(source, kTooLarge);
      place->scaled = !counts.empty();
      intervals.push_back({place, static_cast<int64_t>(llvm::alignTo(bytes, 64)), number, number});
    }
    plan.localBytes = std::max(plan.localBytes, own.localBytes);
    for (Value made : resultsOf(stage)) {
      if (tensors.outputOf.count(memoryOf(made)))
        continue;
      Storage &tensor = tensors.storage[made];
      int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
      std::map<std::string, int> counts;
      if (!multiply(bytes, tensor.shape, counts))
        return fail(source, kTooLarge);
      if (made == stage.result) {
        for (const Extent &extent : tensor.shape)
          if (!plan.boundOf(extent))
            described.bytes.factors.push_back(extent.name);
        (counts.empty() ? described.bytes.fixed : described.bytes.scaled) = bytes;
      }
      if (tensors.prepared.contains(memoryOf(made))) { // prepared memory outlives the call
        tensor.place = takePrepared(bytes);
        continue;
      }
      tensor.place = Place{0, !counts.empty()};
      intervals.push_back({&*tensor.place, static_cast<int64_t>(llvm::alignTo(bytes, 64)), number,
                           std::max(number, lastUse.lookup(made))});
    }
    plan.stages.push_back(described);
  }
  int64_t fixed = placeAll(intervals, false), scaled = placeAll(intervals, true);
  plan.sharedBytes = {fixed, scaled, {}};
  if (scaled)
    for (const auto &[name, power] : powers)
      plan.sharedBytes.factors.insert(plan.sharedBytes.factors.end(), power, name);
  return true;
}
