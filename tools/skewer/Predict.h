// What the cost model expects of a scheduled kernel: what `explain` prints and `bench` puts beside the measurement.
#pragma once
#include "tools/skewer/ExplainWork.h"

namespace skewer::driver {

/// One call on one core. `facts` and `layers` are those of the kernel, with the run-time sizes of `sizes`, else 1.
/// `beside`, if given, becomes what the kernel computes beside its attentions, or null.
WorkFacts workOf(const Kernel &, mlir::ModuleOp scheduled, const KernelFacts &facts,
                 const std::vector<LayerFacts> &layers, const Target &, const std::map<std::string, int64_t> &sizes,
                 mlir::Operation **beside = nullptr);

/// Seconds of a call with these sizes on one core; nothing where the model knows no answer.
std::optional<double> predictedSeconds(const Kernel &, mlir::ModuleOp scheduled, const Target &,
                                       const std::map<std::string, int64_t> &sizes);

} // namespace skewer::driver
