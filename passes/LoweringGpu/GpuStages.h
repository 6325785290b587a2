// A function as a program of GPU kernels, one or more for each of its stages (passes/Lowering/Stages.h):
//
//   attention       the fused kernel (GpuKernel.h) where it takes the attention, else a warp for each row (GpuRows.cpp)
//   matrix product  64 × 64 of the result a block (GpuMatmul.cpp), with what follows it
//   anything else   one thread for each element of the result, by the generic path's loops (GpuPhase.h)
//
// What stands between stages is in the workspace, as on processors.
#pragma once
#include "passes/Lowering/GenericKernel.h"
#include "passes/LoweringGpu/GpuPhase.h"
#include "passes/LoweringGpu/GpuShape.h"

namespace skewer::gpu {

class GpuStages : public generic::Kernel {
public:
  /// Attentions are fused, by their schedules, only if `fuse`.
  GpuStages(mlir::ModuleOp, mlir::func::FuncOp, bool fuse);
  /// Replaces the function by a GPU module with its program, and attaches the plan. False after a diagnostic.
  bool lower();

private:
  using Kernel::emit;
  bool emit(const Stage &) override;
  bool isMatrixProduct(attn::EinsumOp) override;
  /// On tensor cores (GpuMatmul.cpp).
  bool emitTensorProduct(const Stage &, attn::EinsumOp);
  bool emitAttention(const Stage &, attn::AttentionOp);
  /// One warp a row of scores; the softmax goes along with the keys, so that no row is ever in memory.
  bool emitWarpRows(attn::AttentionOp);
  GpuTensors tensorsOf(attn::AttentionOp);
  /// The phases that have been emitted become kernels.
  void takePhases(ItemOf, const std::string &note = "", int64_t threads = 256, int64_t sharedBytes = 0);
  std::string kernelName(llvm::StringRef title);

  bool fuse;
  mlir::gpu::GPUModuleOp gpuModule;
  GpuProgram program;
};

/// Operands of attentions as they are stored: f16 and bf16 are not widened before, and what an earlier stage computes
/// for an attention alone is rounded to the type that it multiplies; results are written in the type that is wanted.
/// Constants that an attention reads become tensors of the workspace.
void narrowOperands(mlir::func::FuncOp);

} // namespace skewer::gpu
