// Divides the registers of a multiprocessor among the warpgroups of one block.
#include "passes/Gpu/Shape/RingRegisters.h"

using namespace skewer::gpu;

RingRegisters skewer::gpu::ringRegistersOf(const GpuTile &tile) {
  // setmaxnreg counts in units of 8 registers (PTX ISA), and a multiprocessor has 65536 (CUDA C++ Programming Guide).
  constexpr int64_t kUnit = 8, kAll = 65536;
  RingRegisters result;
  if (!tile.facts().producers)
    return result;
  int64_t all = kAll / tile.blockThreads() / kUnit * kUnit; // of a thread when the block begins
  if (all >= RingRegisters::kMostThreadRegisters)
    return result;
  // Producers need addresses and a few counters: FlashAttention-3 gives them 40 where they copy by cp.async, 32 beside
  // three warpgroups (hopper/flash_fwd_kernel_sm90.h).
  int64_t groups = tile.threads() / 128;
  result.move = true;
  result.entry = all;
  result.producing = groups > 2 ? 32 : 40;
  result.computing = (all * (groups + 1) - result.producing) / groups / kUnit * kUnit;
  return result;
}
