// Chooses the tile of a fused attention on a GPU from what a multiprocessor does in a clock and how many blocks it
// holds.
#pragma once
#include "passes/Analysis/GpuShape.h"
#include "passes/Schedule/GpuMachine.h"

namespace skewer::gpu {

/// What a block does in one step: `rows` queries meet `keys` keys.
struct GpuStepWork {
  double matrixFlops = 0, exponentials = 0, floats = 0, issued = 0; // thread operations
  double sharedTraffic = 0, globalTraffic = 0;                      // bytes
  double operands = 0;                                              // that are brought into shared memory
};
GpuStepWork stepWorkOf(const GpuShape &, const GpuTile &);

/// What the kernel takes; registers are a guess until ptxas says: how many it takes where there are as many as it
/// likes, and how many it needs.
struct GpuFootprint {
  int64_t sharedBytes = 0, registers = 0, needed = 0;
};
GpuFootprint footprintOf(const GpuShape &, const GpuTile &);

struct GpuPrediction {
  GpuTile tile;
  GpuFootprint footprint;
  Occupancy occupancy;
  double steps = 0;       // of a block, on average: tiles that a mask leaves
  double stepsBefore = 0; // what logits to look up take before the first of them
  double stepCycles = 0;  // of a multiprocessor for a block's step, of all resident blocks
  std::string bound;      // what most of them go into: "tensor cores", "shared memory", …, or "latency"
  int64_t parts = 1;      // blocks that have the same queries
  double cyclesPerRow() const { return (steps + stepsBefore) * stepCycles * double(parts) / double(tile.rows); }
};
/// `registers`: of a thread, as ptxas says; 0: guessed.
GpuPrediction predict(const GpuShape &, const GpuTile &, const GpuMachine &, int64_t registers = 0);

/// Seconds of a call with every run-time size 1 on a device. Blocks that do not fill it leave multiprocessors idle.
double secondsOn(const GpuShape &, const GpuPrediction &, const GpuMachine &, const GpuDevice &);

/// Tiles whose shared memory fits, the fastest by the model first, and after each the fastest of those that take fewer
/// registers; what is thought to spill stands behind them, and the smallest tile last. Where none fits, the one with
/// the least shared memory.
std::vector<GpuPrediction> candidatesOf(const GpuShape &, const GpuMachine &, const GpuRequest &);

} // namespace skewer::gpu
