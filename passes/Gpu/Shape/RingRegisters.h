// The registers of a block with producers: the warpgroups that compute take those that producers leave (setmaxnreg).
#pragma once
#include "passes/Gpu/Shape/GpuShape.h"

namespace skewer::gpu {

struct RingRegisters {
  bool move = false; // if not, each thread has all registers that an instruction can name
  int64_t entry = kMostThreadRegisters; // of a thread when the block begins
  int64_t computing = kMostThreadRegisters, producing = kMostThreadRegisters; // of a thread

  static constexpr int64_t kMostThreadRegisters = 255;
};
RingRegisters ringRegistersOf(const GpuTile &);

} // namespace skewer::gpu
