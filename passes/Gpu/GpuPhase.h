// Turns a phase of loops over buffers into a kernel: each thread, warp or block computes one work item.
#pragma once
#include "passes/Emit/PhaseFunction.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/GpuLaunch.h"

namespace skewer::gpu {

/// The unit that computes one item of a phase.
enum class ItemOf { Thread, Warp, Block };

/// Moves the phase's function (level 4: arith, math, scf, NVVM, and memref for flat memory) into the GPU module as a
/// kernel of that name. Erases the function; constants of the module that it uses become constants of the GPU module.
/// The phase has no memory that belongs to one worker. The launch covers all items of the phase. `threads`: of a block.
GpuLaunch kernelOfPhase(mlir::func::FuncOp, const Phase &, mlir::gpu::GPUModuleOp, const KernelPlan &, std::string name,
                        ItemOf, int64_t threads = 256);

/// Returns the memory of a phase as a pointer, for the parts of a phase that are written in the LLVM dialect from the
/// start.
Value pointerTo(GpuBuilder &, Value memory);

} // namespace skewer::gpu
