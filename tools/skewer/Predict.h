// The cost model's prediction for a scheduled kernel. `explain` prints it, and `bench` shows it beside the measurement.
#pragma once
#include "tools/skewer/ExplainWork.h"

namespace skewer::driver {

/// Returns the work of one call on one core. `facts` and `layers` belong to the kernel, with the run-time sizes of
/// `sizes`, else 1. `beside`, if given, receives an operation that the kernel computes outside its attentions, or null.
WorkFacts workOf(const Kernel &, mlir::ModuleOp scheduled, const KernelFacts &facts,
                 const std::vector<LayerFacts> &layers, const Target &, const std::map<std::string, int64_t> &sizes,
                 mlir::Operation **beside = nullptr);

/// Returns the work of a call with these sizes on one core.
WorkFacts workOfCall(const Kernel &, mlir::ModuleOp scheduled, const Target &,
                     const std::map<std::string, int64_t> &sizes);

/// Returns the seconds of a call with these sizes on one core; nothing if the model has no prediction.
std::optional<double> predictedSeconds(const Kernel &, mlir::ModuleOp scheduled, const Target &,
                                       const std::map<std::string, int64_t> &sizes);

} // namespace skewer::driver
