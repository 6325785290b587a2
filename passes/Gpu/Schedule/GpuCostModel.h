// The GPU cost model: chooses the tile of a fused attention from the rates of a multiprocessor and the number of blocks
// that it holds. attn-schedule-gpu and `skewer explain` call it.
#pragma once
#include "passes/Gpu/Schedule/GpuWork.h"
#include "passes/Schedule/GpuMachine.h"

namespace skewer::gpu {

/// The resources of a kernel. Registers of a thread are an estimate until ptxas reports them: how many ptxas uses
/// without a limit (`registers`), and how many the kernel needs without spills (`needed`).
struct GpuFootprint {
  int64_t sharedBytes = 0, registers = 0, needed = 0;
  int64_t limit = kMostRegisters; // registers that a thread that computes can have
};
GpuFootprint footprintOf(const GpuShape &, const GpuTile &);

/// The clocks of a multiprocessor for one kind of the work of a step alone.
struct PipeTime {
  const char *pipe; // "tensor cores", "shared memory", …
  double cycles = 0;
};

struct GpuPrediction {
  GpuTile tile;
  GpuFootprint footprint;
  Occupancy occupancy;
  double steps = 0;       // average steps of a block: tiles that the mask leaves
  double stepsBefore = 0; // the time of looked-up logits before the first step, in steps
  double stepCycles = 0;  // clocks of a multiprocessor for a step of one block, while all resident blocks run
  std::string bound;      // the pipe that takes longest, or "latency"
  GpuPipes work;          // the work of a step of a block; `pipes`: the time of each pipe for it
  std::vector<PipeTime> pipes;
  int64_t parts = 1; // blocks that have the same queries
  /// Clocks of a multiprocessor for each query; rows of a block without a query cost as much. The multiprocessor is
  /// full. For candidates of a layer whose sizes are all known, it is one of a device of the target, whose
  /// multiprocessors may be idle.
  double cyclesPerQuery = 0;
  double instructionsPerScore() const { return work.issued / double(tile.rows * tile.keys); }
};
/// Predicts the time of a tile. `registers` is the number of registers of a thread that ptxas reports; 0: estimated.
GpuPrediction predict(const GpuShape &, const GpuTile &, const GpuMachine &, int64_t registers = 0);

/// Refuses if the keys cannot be divided among `parts` blocks.
std::optional<Refusal> refuseParts(const GpuShape &, const GpuTile &, int64_t parts);

/// Returns the seconds of a call on a device, with every run-time size 1. If the blocks do not fill the device,
/// multiprocessors are idle.
double secondsOn(const GpuShape &, const GpuPrediction &, const GpuMachine &, const GpuDevice &);

/// Returns tiles whose shared memory fits: first the fastest by the model, and after each tile the fastest one that
/// needs fewer registers. Tiles that are expected to spill follow, and the smallest tile comes last. If no tile fits,
/// returns the tile with the least shared memory. Returns nothing if the request pins an engine that has no code for
/// any of the tiles.
std::vector<GpuPrediction> candidatesOf(const GpuShape &, const GpuMachine &, const GpuRequest &);

/// Returns, for each number of queries of a warp that the request allows, the first candidate, if its registers are
/// expected to suffice. Returns nothing if the request pins that number.
std::vector<GpuPrediction> bestByWarpRows(const GpuShape &, const GpuMachine &, GpuRequest);

} // namespace skewer::gpu
