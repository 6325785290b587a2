// Lowers a function to a program of GPU kernels, one or more for each of its stages (passes/Stages/Stages.h). The pass
// attn-lower-to-gpu calls it.
//
//   attention       the fused kernel (GpuKernel.h) if it takes the attention, else a warp for each row (GpuRows.cpp)
//   matrix product  a block for each 64 × 64 of the result (GpuMatmul.cpp), with the operations that follow
//   anything else   a thread for each element of the result, by the generic path's loops (GpuPhase.h)
//
// Tensors between stages are in the workspace or in prepared memory, as on CPUs.
#pragma once
#include "passes/Generic/Kernel.h"
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuPhase.h"

namespace skewer::gpu {

class GpuStages : public generic::Kernel {
public:
  /// If `fuse`, attentions are fused according to their schedules; else none is fused.
  GpuStages(mlir::ModuleOp, mlir::func::FuncOp, bool fuse);
  /// Replaces the function by a GPU module with its program, and attaches the plan. False after a diagnostic.
  bool lower();

private:
  using Kernel::emit;
  bool emit(const Stage &) override;
  bool knowsPrepared() const override { return true; }
  /// Emits the kernels of one stage; false after a diagnostic.
  bool emitKernels(const Stage &);
  bool isMatrixProduct(attn::EinsumOp) override;
  /// Emits a matrix product on tensor cores (GpuMatmul.cpp).
  bool emitTensorProduct(const Stage &, attn::EinsumOp);
  class TensorProduct;
  bool emitAttention(const Stage &, attn::AttentionOp);
  bool emitFused(const GpuAttention &, attn::AttentionOp);
  OwnMemory ownMemory(const Stage &) override;
  /// Emits an attention with one warp for each row of scores. The warp computes the softmax while it goes through the
  /// keys, so no row is ever in memory.
  bool emitWarpRows(attn::AttentionOp);
  class WarpRow;
  GpuTensors tensorsOf(attn::AttentionOp);
  /// Returns the attention's shape and tensors. Refuses if it cannot be one fused kernel.
  OrRefusal<GpuAttention> placed(attn::AttentionOp);
  /// Turns the phases that have been emitted into kernels.
  void takePhases(ItemOf, const std::string &note = "", int64_t threads = 256, int64_t sharedBytes = 0);
  std::string kernelName(llvm::StringRef title);

  bool fuse;
  mlir::gpu::GPUModuleOp gpuModule;
  GpuProgram program;
  std::map<mlir::Operation *, Place> partPlaces; // places of the records of parts of an attention's keys
};

} // namespace skewer::gpu
