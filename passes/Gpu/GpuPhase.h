// A phase of loops over buffers as a kernel: one work item a thread, or one a warp.
#pragma once
#include "passes/Emit/PhaseFunction.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/GpuLaunch.h"

namespace skewer::gpu {

/// What one item of a phase is done by.
enum class ItemOf { Thread, Warp, Block };

/// Moves the phase's function (level 4: arith, math, scf, NVVM, and memref for flat memory) into the GPU module as a
/// kernel of that name; the function is erased, its constants of the module become the GPU module's. The phase has no
/// memory of a worker's own. The launch covers all of the phase's items; `threads`: of a block.
GpuLaunch kernelOfPhase(mlir::func::FuncOp, const Phase &, mlir::gpu::GPUModuleOp, const KernelPlan &, std::string name,
                        ItemOf, int64_t threads = 256);

/// The memory of a phase as a pointer: what of a phase is written in the LLVM dialect from the start.
Value pointerTo(GpuBuilder &, Value memory);

} // namespace skewer::gpu
