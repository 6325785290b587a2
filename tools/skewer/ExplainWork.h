// Bytes, FLOPs and time of one call: what the roofline allows and what the cost model expects.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "tools/skewer/ExplainLayer.h"

namespace skewer::driver {

/// One call on one core.
struct WorkFacts {
  double bytesMoved = 0; // arguments read and the result written once
  double usefulFlops = 0;
  double peak = 0, memoryRate = 0; // of a core: FLOP/s, bytes/s
  double computeSeconds = 0, memorySeconds = 0;
  double matmulFlops = 0, predictedSeconds = 0; // 0 where nothing is predicted
  std::string whyNotPredicted;                  // then why
  double boundSeconds() const { return std::max(computeSeconds, memorySeconds); }
  bool isMemoryBound() const { return memorySeconds > computeSeconds; }
  double shareOfPeak() const { return predictedSeconds > 0 ? usefulFlops / predictedSeconds / peak : 0; }
};

/// `fused`: whether the attentions are all that the kernel does, so that their prediction is the kernel's; else nothing
/// is predicted.
/// Run-time sizes are those of `sizes`, else 1; `calls` is how many times the useful work is that of sizes of 1.
WorkFacts workFactsOf(const KernelPlan &signature, double usefulFlops, const std::vector<LayerFacts> &, bool fused,
                      const Target &, const std::map<std::string, int64_t> &sizes = {}, double calls = 1);

} // namespace skewer::driver
