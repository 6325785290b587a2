// Chooses the tile of a fused attention on a GPU from what a multiprocessor does in a clock and how many blocks it
// holds.
#pragma once
#include "passes/Schedule/GpuMachine.h"
#include "passes/Schedule/GpuWork.h"

namespace skewer::gpu {

/// What the kernel takes; registers are a guess until ptxas says: how many it takes where there are as many as it
/// likes, and how many it needs.
struct GpuFootprint {
  int64_t sharedBytes = 0, registers = 0, needed = 0;
};
GpuFootprint footprintOf(const GpuShape &, const GpuTile &);

/// Clocks of a multiprocessor that one kind of a step's work takes by itself.
struct PipeTime {
  const char *pipe; // "tensor cores", "shared memory", …
  double cycles = 0;
};

struct GpuPrediction {
  GpuTile tile;
  GpuFootprint footprint;
  Occupancy occupancy;
  double steps = 0;       // of a block, on average: tiles that a mask leaves
  double stepsBefore = 0; // what logits to look up take before the first of them
  double stepCycles = 0;  // of a multiprocessor for a block's step, of all resident blocks
  std::string bound;      // the pipe that takes longest, or "latency"
  GpuPipes work;          // of a block's step, and what each pipe takes for it
  std::vector<PipeTime> pipes;
  int64_t parts = 1; // blocks that have the same queries
  /// Of a multiprocessor for each query; rows of a block that have no query cost as much. If it is full, or, of
  /// candidates of a layer whose sizes are all known, on a device of the target, whose multiprocessors may be idle.
  double cyclesPerQuery = 0;
  double instructionsPerScore() const { return work.issued / double(tile.rows * tile.keys); }
};
/// `registers`: of a thread, as ptxas says; 0: guessed.
GpuPrediction predict(const GpuShape &, const GpuTile &, const GpuMachine &, int64_t registers = 0);

/// Why the keys of a block's queries cannot be divided among so many blocks; empty: they can.
std::string whyNotInParts(const GpuShape &, const GpuTile &, int64_t parts);

/// Seconds of a call with every run-time size 1 on a device. Blocks that do not fill it leave multiprocessors idle.
double secondsOn(const GpuShape &, const GpuPrediction &, const GpuMachine &, const GpuDevice &);

/// Tiles whose shared memory fits, the fastest by the model first, and after each the fastest of those that take fewer
/// registers; what is thought to spill stands behind them, and the smallest tile last. Where none fits, the one with
/// the least shared memory.
std::vector<GpuPrediction> candidatesOf(const GpuShape &, const GpuMachine &, const GpuRequest &);

/// The first candidate of each number of queries a warp that the request leaves open, where its registers are thought
/// to suffice.
std::vector<GpuPrediction> bestByWarpRows(const GpuShape &, const GpuMachine &, GpuRequest);

} // namespace skewer::gpu
