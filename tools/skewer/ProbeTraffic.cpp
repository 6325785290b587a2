// `skewer target --probe`: measures the share of the traffic between caches that a kernel does not hide. Loops that
// read memory in order hide all of it, so only a kernel shows the traffic that tiles leave.
#include "passes/Cpu/Schedule/CostModel.h"
#include "tools/skewer/Clock.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/Probe.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

// A head's keys and values are 96 KiB: more than L1, less than half of L2. A call takes about a tenth of a millisecond.
constexpr int64_t kHeads = 2, kTokens = 192, kWidth = 64;
constexpr int kTrafficRepeats = 5, kTrafficSlices = 8;

const char *const kLayer = R"(
kernel probe(q, k, v : f32[{0}, {1}, {2}]) -> f32[{0}, {1}, {2}] {{
  return einsum("h i j, h j e -> h i e", softmax(einsum("h i d, h j d -> h i j", q, k) * 0.125), v)
}}
)";

/// The layer in row blocks of one size, ready to run.
struct Variant {
  Blocking blocking;
  std::unique_ptr<Execution> execution;
};

class TrafficProbe {
public:
  explicit TrafficProbe(const Target &target)
      : target(target), compilation(Compilation::createFromText(fmt::format(kLayer, kHeads, kTokens, kWidth),
                                                                "probe.attn", {}, target)) {}

  Measurement run() {
    if (!compilation || !prepare())
      return doubt("the kernels that show it were not made");
    std::vector<double> shares;
    for (int repeat = 0; repeat < kTrafficRepeats; ++repeat) {
      auto few = cyclesOf(variants[0]), many = cyclesOf(variants[1]);
      if (!few || !many)
        return doubt("the kernels that show it did not run");
      double arithmetic = modelled(0, 0) - modelled(1, 0);
      double traffic = modelled(0, 1) - modelled(1, 1) - arithmetic;
      if (traffic <= 0)
        return doubt("its kernels do not differ in traffic");
      shares.push_back((*few - *many - arithmetic) / traffic);
    }
    auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    double share = repeatsOf(shares).median;
    // Spread and limit are absolute: the possible error of the share matters, not its ratio to the share.
    if (share < -kMostSpread)
      return {"exposed_traffic", share, *most - *least, fmt::format("{:.2f} is no share", share)};
    return {"exposed_traffic", std::round(100 * std::max(0.0, share)) / 100, *most - *least, ""};
  }

private:
  static Measurement doubt(const char *why) { return {"exposed_traffic", 0, 0, why}; }

  /// Prepares row blocks of one group of rows, and of as many groups as keep their scores in half of L1. The tiles are
  /// the same.
  bool prepare() {
    Blocking best = chooseBlocking(sizes, target);
    int64_t panel = best.tileVectors * target.lanes, rowBytes = 4 * kTokens;
    int64_t groups = std::max<int64_t>(2, target.l1Bytes / 2 / (rowBytes * best.tileRows));
    KernelPlan signature = compilation->kernels.front().signature;
    auto operands = prepareOperands(signature, {}, {}, /*seed=*/1);
    if (!operands)
      return llvm::consumeError(operands.takeError()), false;
    for (int64_t count : {int64_t(1), groups}) {
      CpuRequest &pinned = compilation->pinned;
      pinned.tileRows = best.tileRows;
      pinned.tileVectors = best.tileVectors;
      pinned.rowBlock = count * best.tileRows;
      pinned.keyBlock = (kTokens + panel - 1) / panel * panel;
      Variant &variant = variants.emplace_back();
      variant.blocking = chooseBlocking(sizes, target, pinned);
      variant.execution = Execution::create(*compilation, compilation->kernels.front(), Execution::Form::Fused);
      if (!variant.execution || !variant.execution->bind(*operands, pool) || !variant.execution->run())
        return false;
    }
    return true;
  }

  /// Returns the cycles of a query row: the least of some calls, since interruptions only add time.
  std::optional<double> cyclesOf(Variant &variant) {
    double least = INFINITY;
    for (int slice = 0; slice < kTrafficSlices; ++slice) {
      double start = now();
      if (!variant.execution->run())
        return std::nullopt;
      least = std::min(least, now() - start);
    }
    return least * target.gigahertz * 1e9 / double(kHeads * kTokens);
  }

  double modelled(size_t variant, double exposed) const {
    Target other = target;
    other.exposedTraffic = exposed;
    return cyclesPerRow(sizes, variants[variant].blocking, other);
  }

  const Target &target;
  const AttentionSizes sizes{kTokens, kTokens, kWidth, kWidth};
  std::unique_ptr<Compilation> compilation;
  ThreadPool pool{1};
  std::vector<Variant> variants;
};

} // namespace

Measurement probeTraffic(const Machine &machine) { return TrafficProbe(machine.target).run(); }

} // namespace skewer::driver
