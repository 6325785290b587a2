// Kernels whose blocks have producers, which fill tiles, and warps that compute; the signals of a ring lie between them
// (Ring.h). The computing warps do not wait for each other, so that one multiplies while another exponentiates.
#pragma once
#include "passes/Gpu/StepCode.h"

namespace skewer::gpu {

/// The numbers of a block's barriers, besides 0 for all threads: of the threads that compute, and of all threads when
/// producers may overwrite what the work before the first step has read.
constexpr int64_t kComputingBarrier = 1, kPrologueBarrier = 2;

/// Emits the body of a kernel whose tile has producers (EngineFacts). `in` belongs to the threads that compute. The
/// kernel's last arguments are the tensor maps of the layout's boxes.
void emitWithProducers(KernelContext &in, Masks &, mlir::LLVM::LLVMFuncOp kernel);
/// Emits the body of a kernel in which the threads of `in` fill tiles and compute.
void emitByAll(KernelContext &in, Masks &);

} // namespace skewer::gpu
