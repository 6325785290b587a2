// The part of `explain` about a kernel on a GPU: its resources, the number of blocks on a multiprocessor, the predicted
// time on devices, and the instructions of its main loop.
#pragma once
#include "codegen/Compiler/Compiler.h"
#include "codegen/GPU/Build.h"
#include "codegen/GPU/Sass.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "tools/skewer/ExplainPage.h"
#include "tools/skewer/Options.h"
#include "llvm/Support/JSON.h"

namespace skewer::driver {

/// Predictions for one call on a device, with every run-time size 1.
struct DeviceFacts {
  gpu::GpuDevice device;
  double predictedSeconds = 0;
  double computeSeconds = 0, memorySeconds = 0; // useful work at the engine's rate; arguments and results moved once
  double boundSeconds() const { return std::max(computeSeconds, memorySeconds); }
  double shareOfPeak() const { return predictedSeconds > 0 ? computeSeconds / predictedSeconds : 0; }
};

/// One launched kernel.
struct GpuKernelFacts {
  std::string name, title, note; // note: why an attention is computed by rows
  std::string without;           // the kernel that runs where this one's tensor maps cannot be made; mostly empty
  bool prepares = false;         // its results may be computed once for all calls
  int64_t threads = 0, sharedBytes = 0;
  std::optional<int64_t> registers;             // as ptxas reports
  gpu::Occupancy occupancy;                     // without ptxas, from the model's estimate of registers
  std::optional<gpu::GpuPrediction> prediction; // of an attention
  std::vector<gpu::GpuPrediction> byWarpRows;   // the best schedule of the model for each number of queries in a warp
  std::optional<gpu::MainLoop> loop;            // of an attention
  /// Number of scores that a thread computes in an iteration of the loop; in all steps if there is no loop.
  double scoresOfThread = 0;
};

struct GpuFacts {
  gpu::GpuTarget target;
  std::string assembler;               // version of ptxas; empty without one
  std::string engine;                  // of the attentions; empty without one
  std::vector<GpuKernelFacts> kernels; // in the order in which they run
  std::vector<DeviceFacts> devices;    // empty if the kernel does work outside its attentions
  std::vector<std::string> missing;    // tools, and what to install
};

/// Compiles for the target; returns nothing after a message. `scheduled` receives the module with the chosen schedule.
std::optional<GpuFacts> gpuFactsOf(Compilation &, const Kernel &, mlir::ModuleOp fused, const gpu::GpuTarget &,
                                   const Options &, double usefulFlops, double bytesMoved,
                                   mlir::OwningOpRef<mlir::ModuleOp> &scheduled);

/// Prints the facts. `sizes` names the run-time sizes: " with batch = 4".
void printGpu(const GpuFacts &, double usefulFlops, double bytesMoved, const std::string &sizes, Page &);
llvm::json::Object toJson(const GpuFacts &);

} // namespace skewer::driver
