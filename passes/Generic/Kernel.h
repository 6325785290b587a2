// The generic lowering: emits a kernel as stages (Stages.h), each with its own phases of loops over buffers. The pass
// attn-lower-generic runs it as it is, so every kernel has a lowering. Engines override hooks for stages that they
// compute better than such loops (fused attentions, matrix products): passes/Cpu/CpuStages.h, passes/Gpu/GpuStages.h.
//
// The result of a stage has a buffer in the shared workspace, or is an output of the kernel. The innermost loop
// computes vectors if the subscripts allow it; the outermost axes are work items. Sums are in f32, in chains
// (Summation.h).
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Generic/ScoreTerms.h"

namespace skewer {
namespace attn {
class ExtremumOp;
}
} // namespace skewer

namespace skewer::generic {

class Kernel {
public:
  Kernel(mlir::ModuleOp module, mlir::func::FuncOp function);
  virtual ~Kernel() = default;
  /// Adds the phase functions, attaches the plan and removes the function. Returns false after a diagnostic.
  bool emit();

protected:
  //===- Hooks of an engine ------------------------------------------------===//
  /// Changes the function before it is divided into stages.
  virtual void prepare(mlir::func::FuncOp) {}
  /// Returns whether the engine computes an einsum as a matrix product.
  virtual bool isMatrixProduct(attn::EinsumOp) { return false; }
  /// Called for each stage, in order, before buffers are planned. The results of earlier stages are stored by then.
  virtual void planStage(const Stage &) {}
  /// The memory that a stage needs in addition to its result.
  struct OwnMemory {
    struct Shared {
      Place *place;  // set to the place of the memory
      int64_t bytes; // 0: none
      std::vector<Extent> times = {};
      bool prepared = false; // in prepared memory, which phases with `prepares` write
    };
    llvm::SmallVector<Shared, 2> shared;
    int64_t localBytes = 0;
    const char *title = nullptr; // the name of the stage in the plan; null: the name of its kind
  };
  virtual OwnMemory ownMemory(const Stage &) { return {}; }
  /// One row of a softmax: its axes, the subscripts of an element in both tensors, and the mask. `emitSoftmaxRow`
  /// returns false if the row is computed element by element.
  struct SoftmaxRow {
    const Storage &input, &result;
    llvm::ArrayRef<Axis> inner;
    llvm::ArrayRef<subscript::Expr> subscripts;
    const std::optional<subscript::Expr> &mask;
    Symbols &symbols;
  };
  virtual bool emitSoftmaxRow(const SoftmaxRow &) { return false; }
  /// Returns whether the engine's phases support prepared memory, so that constant stages are separate from the others.
  virtual bool knowsPrepared() const { return false; }
  /// Emits the code of a stage. Returns false after a diagnostic.
  virtual bool emit(const Stage &);

  /// Begins a phase that writes the result of the stage, and opens the memory of all tensors that the stage reads.
  void beginPhase(const Stage &, llvm::StringRef title);

private:
  void findPrepared();
  /// Sets the offsets of all buffers in the shared workspace (PlanBuffers.cpp).
  bool planBuffers();
  Contraction contractionOf(const attn::ResolvedEinsum &, const std::map<std::string, Extent> &); // without operands
  bool emitEinsum(attn::EinsumOp);
  bool emitExtremum(attn::ExtremumOp);
  bool emitConcat(const Stage &stage, attn::ConcatOp);
  bool emitElementwise(const Stage &);
  struct Rows;
  std::optional<Rows> rowsOf(mlir::Operation *);
  bool emitSoftmax(attn::SoftmaxOp);
  bool emitLogSumExp(attn::LogSumExpOp);
  struct ScoreRow;
  bool emitRows(attn::AttentionOp);

protected:
  mlir::ModuleOp module;
  mlir::func::FuncOp source;
  mlir::ImplicitLocOpBuilder b;
  KernelPlan plan;
  std::vector<Stage> stages;
  bool mayPrepare = false; // whether stages may be prepared once
  bool packsRows = true;   // matrix products compute their operand rows while they pack them
  PhaseCode code{b, plan};
  Tensors tensors{module, b, plan, code};
  Elements elements{b, plan, code, tensors};
  Contractions contractions{b, code, elements};
  ScoreTerms terms{b, code, tensors, contractions};
};

} // namespace skewer::generic
