// How a lowered GPU kernel is launched: what its caller, the manifest and the interpreter must know.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lowering/KernelPlan.h"

namespace skewer::gpu {

/// Arguments of the kernel: each input, then the output (pointers to the device's memory, multiples of 16 bytes), then
/// each run-time size as i64, in the order of the module's `attn.plan`.
struct GpuLaunch {
  std::string kernel;
  int64_t threads = 128, sharedBytes = 0; // of a block; shared memory is dynamic
  SizeExpression blocks;                  // of the grid, one-dimensional
  int64_t rows = 64, keys = 64;           // the tile
};

/// As the attribute `attn.launch` of the GPU module.
void attachLaunch(mlir::gpu::GPUModuleOp, const GpuLaunch &);
std::optional<GpuLaunch> launchOf(mlir::gpu::GPUModuleOp);

} // namespace skewer::gpu
