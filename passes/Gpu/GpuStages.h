// A function as a program of GPU kernels, one or more for each of its stages (passes/Stages/Stages.h):
//
//   attention       the fused kernel (GpuKernel.h) where it takes the attention, else a warp for each row (GpuRows.cpp)
//   matrix product  64 × 64 of the result a block (GpuMatmul.cpp), with what follows it
//   anything else   one thread for each element of the result, by the generic path's loops (GpuPhase.h)
//
// What stands between stages is in the workspace, or in prepared memory, as on processors.
#pragma once
#include "passes/Generic/Kernel.h"
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuPhase.h"

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
  bool knowsPrepared() const override { return true; }
  /// The kernels of one stage; false after a diagnostic.
  bool emitKernels(const Stage &);
  bool isMatrixProduct(attn::EinsumOp) override;
  /// On tensor cores (GpuMatmul.cpp).
  bool emitTensorProduct(const Stage &, attn::EinsumOp);
  class TensorProduct;
  bool emitAttention(const Stage &, attn::AttentionOp);
  bool emitFused(const GpuAttention &, attn::AttentionOp);
  OwnMemory ownMemory(const Stage &) override;
  /// One warp a row of scores; the softmax goes along with the keys, so that no row is ever in memory.
  bool emitWarpRows(attn::AttentionOp);
  class WarpRow;
  GpuTensors tensorsOf(attn::AttentionOp);
  /// Nothing where it cannot be one fused kernel; `reason` says why.
  std::optional<GpuAttention> placed(attn::AttentionOp, std::string &reason);
  /// The phases that have been emitted become kernels.
  void takePhases(ItemOf, const std::string &note = "", int64_t threads = 256, int64_t sharedBytes = 0);
  std::string kernelName(llvm::StringRef title);

  bool fuse;
  mlir::gpu::GPUModuleOp gpuModule;
  GpuProgram program;
  std::map<mlir::Operation *, Place> partPlaces; // what parts of an attention's keys leave
};

} // namespace skewer::gpu
