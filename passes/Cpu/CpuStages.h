// A function as the phases of a processor's kernel: fused attentions (CpuKernel.h) and matrix products in register
// tiles (Panels.h) where they fit, the generic path's loops for what stands beside them.
#pragma once
#include "passes/Cpu/CpuKernel.h"
#include "passes/Generic/Kernel.h"
#include "passes/Schedule/Target.h"
#include "passes/Stages/Matmul.h"

namespace skewer {

/// What the stage of a fused attention has said of it before its phases are emitted.
struct ScheduledAttention {
  ScheduledAttention(mlir::ImplicitLocOpBuilder &b, AttentionShape shape, AttentionStage stage)
      : shape(std::move(shape)), vectors(b, stage.schedule.getLanes()), kernel(vectors, this->shape, std::move(stage)) {
  }
  AttentionShape shape;
  VectorBuilder vectors;
  CpuKernel kernel;
};

/// A fused attention: by its schedule, and, where it has one for short layers, by that one up to its length. A call has
/// work for one of them, so that they share their memory.
struct FusedAttention {
  llvm::SmallVector<std::unique_ptr<ScheduledAttention>, 2> ways;
  Place tables, parts; // in the shared workspace
  const AttentionShape &shape() const { return ways.front()->shape; }
};

/// Tiles and blocks of a matrix product. Strides in floats.
struct MatmulPlan {
  MatmulPlan(Matmul, const Target &);
  Matmul matmul;
  int64_t lanes, tileRows, tileVectors; // accumulators of the register tile
  int64_t panels, panelStride;          // of the packed columns
  int64_t rowBlock, blocks, rowStride;  // rows of an item, items of one outer index, distance of packed rows
  int64_t packedBytes, scratchOffset, packedOffset, localBytes;
  Place packed; // in the shared workspace
  /// Whether each worker packs the columns for itself: each product of a batch has its own.
  bool packsItself() const { return !matmul.batch.empty(); }
};

class CpuStages : public generic::Kernel {
public:
  CpuStages(mlir::ModuleOp module, mlir::func::FuncOp function, Target target)
      : Kernel(module, function), target(std::move(target)) {}
  using Kernel::emit;

private:
  void prepare(mlir::func::FuncOp) override;
  bool isMatrixProduct(attn::EinsumOp) override;
  void planStage(const Stage &) override;
  void planAttention(attn::AttentionOp, const std::vector<bool> &computed, const std::vector<bool> &narrow);
  bool knowsPrepared() const override { return true; }
  OwnMemory ownMemory(const Stage &) override;
  OwnMemory ownMemory(FusedAttention &, attn::AttentionOp);
  OwnMemory ownMemory(MatmulPlan &, attn::EinsumOp);
  bool emit(const Stage &) override;
  bool emitSoftmaxRow(const SoftmaxRow &) override; // SoftmaxStage.cpp
  bool emitFused(const Stage &, attn::AttentionOp);
  void emitScheduled(const Stage &, attn::AttentionOp, const std::map<std::string, Extent> &, ScheduledAttention &);
  class ResultRow; // AttentionStage.cpp
  /// What is read where an attention reads the operand: what it is widened from, if that alone is in memory.
  mlir::Value inMemory(mlir::Value operand);

  //===- Matrix products (MatmulStage.cpp) ------------------------------------------===//
  bool emitMatmul(const Stage &, attn::EinsumOp);
  class MatmulEmitter;
  struct MatmulColumns {
    mlir::Value source, base, packed;
  };
  void packColumns(const MatmulPlan &, const MatmulColumns &, mlir::Value firstPanel, mlir::Value endPanel);
  struct MatmulRows {
    mlir::Value tensor; // in memory, or computed as it is packed
    const generic::Storage *storage;
    std::vector<subscript::Expr> subscripts;
  };
  void packRows(const MatmulPlan &, const MatmulRows &rows, const std::map<std::string, Extent> &, generic::Symbols,
                mlir::Value target, mlir::Value base);

  Target target;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<FusedAttention>> fused;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<MatmulPlan>> matmuls;
};

} // namespace skewer
