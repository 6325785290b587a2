// Bytes, FLOPs and time of one call: what the roofline allows and what the cost model expects.
#pragma once
#include "passes/Lowering/KernelPlan.h"
#include "tools/skewer/ExplainLayer.h"

namespace skewer::driver {

/// One call on one core, with every run-time size 1.
struct WorkFacts {
  double bytesMoved = 0; // arguments read and the result written once
  double usefulFlops = 0;
  double peak = 0, memoryRate = 0; // of a core: FLOP/s, bytes/s
  double computeSeconds = 0, memorySeconds = 0;
  double matmulFlops = 0, predictedSeconds = 0; // 0 where nothing is predicted
  double boundSeconds() const { return std::max(computeSeconds, memorySeconds); }
  bool isMemoryBound() const { return memorySeconds > computeSeconds; }
  double shareOfPeak() const { return predictedSeconds > 0 ? usefulFlops / predictedSeconds / peak : 0; }
};

/// `fused`: whether the attentions are all that the kernel does, so that their prediction is the kernel's; else nothing
/// is predicted.
WorkFacts workFactsOf(const KernelPlan &signature, double usefulFlops, const std::vector<LayerFacts> &, bool fused,
                      const Target &);

} // namespace skewer::driver
