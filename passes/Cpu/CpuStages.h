// Emits a function as the phases of a kernel for a processor. `attn-lower-to-cpu` (LowerToCpu.cpp) calls it. Attentions
// that fuse (CpuKernel.h) and matrix products in register tiles (RegisterTile.h) have engines of their own; all other
// stages are loops of the generic path (passes/Generic/Kernel.h).
#pragma once
#include "passes/Cpu/CommonFactor.h"
#include "passes/Cpu/CpuKernel.h"
#include "passes/Generic/Kernel.h"
#include "passes/Schedule/Target.h"
#include "passes/Stages/Matmul.h"

namespace skewer {

/// A fused attention under one schedule, planned before its phases are emitted.
struct ScheduledAttention {
  ScheduledAttention(mlir::ImplicitLocOpBuilder &b, AttentionShape shape, AttentionStage stage)
      : vectors(b, stage.schedule.getLanes()), shape(withCommonFactor(std::move(shape), stage, vectors)),
        kernel(vectors, this->shape, std::move(stage)) {}
  VectorBuilder vectors;
  AttentionShape shape;
  CpuKernel kernel;
};

/// A fused attention under its schedule and, if it has one for short layers, also under that one up to its length. Each
/// call has work for only one of them, so they share their memory.
struct FusedAttention {
  llvm::SmallVector<std::unique_ptr<ScheduledAttention>, 2> ways;
  Place tables, parts; // in the shared workspace
  const AttentionShape &shape() const { return ways.front()->shape; }
};

/// Tiles and blocks of a matrix product. Strides in floats.
struct MatmulPlan {
  /// Plans a product whose columns are `element` in memory. If its engine multiplies that type, rows are rounded to it.
  MatmulPlan(Matmul, ElementType element, const Target &);
  Matmul matmul;
  const CpuEngine &engine;
  int64_t lanes, tileRows, tileVectors; // sums of a tile
  int64_t steps;                        // of the depth
  int64_t panels, panelStride;          // of the packed columns
  int64_t rowBlock, blocks, rowStride;  // rows of an item, items of one outer index, floats from packed row to row
  int64_t wideFloats;                   // of a row before it is packed; 0 if rows are packed as floats
  int64_t packedBytes, scratchOffset, wideOffset, packedOffset, localBytes;
  Place packed; // in the shared workspace
  /// Returns whether each worker packs the columns for itself, because each product of a batch has its own columns.
  bool packsItself() const { return !matmul.batch.empty(); }
  /// Returns whether the sums of a tile are in memory, not in registers.
  bool keepsSumsInMemory() const { return engine.cost.rowsInMemory() > 0; }
};

class CpuStages : public generic::Kernel {
public:
  CpuStages(mlir::ModuleOp module, mlir::func::FuncOp function, Target target)
      : Kernel(module, function), target(std::move(target)) {
    code.roundsToBf16 = hasFeature(this->target, "avx512bf16");
  }
  using Kernel::emit;

private:
  void prepare(mlir::func::FuncOp) override;
  bool isMatrixProduct(attn::EinsumOp) override;
  void planStage(const Stage &) override;
  /// How an attention reads its operands, by operand number, and stores its result (AttentionStage.h).
  struct OperandForms {
    std::vector<bool> computed, scaled, narrow;
    std::vector<ElementType> elements;
    ElementType result = {};
  };
  void planAttention(attn::AttentionOp, const OperandForms &);
  bool knowsPrepared() const override { return true; }
  OwnMemory ownMemory(const Stage &) override;
  OwnMemory ownMemory(FusedAttention &, attn::AttentionOp);
  OwnMemory ownMemory(MatmulPlan &, attn::EinsumOp);
  bool emit(const Stage &) override;
  bool emitSoftmaxRow(const SoftmaxRow &) override; // SoftmaxStage.cpp
  bool emitFused(const Stage &, attn::AttentionOp);
  void emitScheduled(const Stage &, attn::AttentionOp, const std::map<std::string, Extent> &, ScheduledAttention &);
  class ResultRow; // AttentionStage.cpp
  /// Returns the value that an attention reads in place of the operand: the value that it is widened from, if only that
  /// one is in memory; else the operand itself.
  mlir::Value inMemory(mlir::Value operand);
  /// Returns the type in which a matrix product multiplies: that of its columns in memory if the results of the kernel
  /// have no more digits; else f32.
  ElementType elementOf(attn::EinsumOp product);

  //===- Matrix products (MatmulStage.cpp) ------------------------------------------===//
  bool emitMatmul(const Stage &, attn::EinsumOp);
  class MatmulEmitter;
  struct MatmulColumns {
    mlir::Value source, base, packed;
  };
  void packColumns(const MatmulPlan &, const MatmulColumns &, mlir::Value firstPanel, mlir::Value endPanel);
  void packSteps(const MatmulPlan &, const MatmulColumns &, mlir::Value panel, int64_t columns);
  struct MatmulRows {
    mlir::Value tensor; // in memory, or computed when it is packed
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
