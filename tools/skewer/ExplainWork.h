// Bytes, FLOPs and time of one call: the bound by the roofline and the prediction of the cost model. `explain` prints
// them, and `bench` shows the prediction (Predict.h).
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "tools/skewer/ExplainLayer.h"

namespace skewer::driver {

/// The work of one call on one core.
struct WorkFacts {
  double bytesMoved = 0; // arguments are read and the result is written once
  double usefulFlops = 0;
  double peak = 0, memoryRate = 0; // of a core: FLOP/s of the fastest engine that multiplies, bytes/s
  double productsOverFma = 1;      // that peak as a multiple of the peak of FMAs
  double computeSeconds = 0, memorySeconds = 0;
  double matmulFlops = 0, predictedSeconds = 0; // 0 without a prediction
  std::string whyNotPredicted;                  // the reason, without a prediction
  double boundSeconds() const { return std::max(computeSeconds, memorySeconds); }
  bool isMemoryBound() const { return memorySeconds > computeSeconds; }
  double shareOfPeak() const { return predictedSeconds > 0 ? usefulFlops / predictedSeconds / peak : 0; }
};

/// Returns the work of one call. `fused`: the kernel consists of its attentions only, so that their prediction is the
/// kernel's; otherwise nothing is predicted. Run-time sizes have the values of `sizes`, else 1. `calls` is the factor
/// from the useful work at sizes of 1 to the useful work at these sizes.
WorkFacts workFactsOf(const KernelPlan &signature, double usefulFlops, const std::vector<LayerFacts> &, bool fused,
                      const Target &, const std::map<std::string, int64_t> &sizes = {}, double calls = 1);

} // namespace skewer::driver
