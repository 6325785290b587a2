// A kernel as a list of stages: which operations get a loop and a buffer of their own, and which are computed on the
// way.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/AttentionShape.h"
#include <functional>

namespace skewer {

enum class StageKind {
  Attention,   // fused: phases of its own, see CpuKernel
  Rows,        // an attention that cannot fuse: one row of scores at a time
  Einsum,      // a sum of products, or an extremum
  Elementwise, // arithmetic and index maps, one loop for all of them
  Softmax      // or a logsumexp: rows of one tensor
};
/// "attention", "attention by rows", "einsum", "elementwise", "softmax".
const char *nameOf(StageKind);

struct Stage {
  StageKind kind;
  mlir::Value result;                          // goes to a buffer, or where the kernel's output goes
  llvm::SmallVector<mlir::Operation *> folded; // computed element by element where they are read
  std::string reason;                          // why an attention does not fuse
  /// A matrix product or a fused attention whose elements `result`'s arithmetic finishes before they are stored; null:
  /// `result` is what the stage's loops make.
  mlir::Operation *finishes = nullptr;

  /// What the stage's loops are made for.
  mlir::Operation *maker() const { return finishes ? finishes : result.getDefiningOp(); }
};
/// All that a stage makes: its result and, of an attention that has one, the log-sum-exp of its rows.
llvm::SmallVector<mlir::Value> resultsOf(const Stage &);

/// The stages in the order in which they run. An operation is one where another stage reads its result as a whole;
/// arithmetic with one reader, and index maps, are part of the stage that reads them.
///
/// An einsum that `isMatmul` says is computed as a matrix product takes arithmetic and index maps in front of its rows
/// in as they are packed. It, and an attention that a processor fuses, takes in the arithmetic behind it (a gate, a
/// residual, a conversion) as its elements are stored.
using IsMatmul = std::function<bool(attn::EinsumOp)>;
/// Without `packsRows` rows are read from memory.
std::vector<Stage> stagesOf(mlir::func::FuncOp, const IsMatmul &isMatmul = {}, bool packsRows = true);

/// Gives every result of the function memory of its own: one that is an argument, a number, or the same memory as an
/// earlier result becomes a copy (a rearrangement that moves nothing). False where the copy's run-time sizes have no
/// operand to tell them.
bool separateResults(mlir::func::FuncOp);

/// The value whose memory a value is: reshapes move nothing.
mlir::Value memoryOf(mlir::Value);

/// An einsum that sums nothing and reads no run-time indices: a product of index maps.
bool isProduct(mlir::Operation *);
/// What moves elements, or multiplies moved ones.
bool isMap(mlir::Operation *);
/// Numbers of fewer bits, f16, bf16 or i8, as f32.
bool isWidening(mlir::Operation *);
/// What the value is widened from; the value itself where it is not.
mlir::Value widenedFrom(mlir::Value);
/// Element by element, all of one type but where it is converted.
bool isArithmetic(mlir::Operation *);

/// What the CPU lowering needs to fuse an attention, once it has a schedule: operands whose first size alone may be of
/// run time, walked as `shapeOfAttention` says. Nothing otherwise; `reason` says why.
std::optional<AttentionShape> walkedShape(attn::AttentionOp, std::string &reason);
/// The same of one that has a schedule for a processor.
std::optional<AttentionShape> fusedShape(attn::AttentionOp, std::string &reason);

/// Which attentions fuse: `fusedShape` says it of a function that has schedules, `walkedShape` of one that will.
using ShapeOfFused = std::optional<AttentionShape> (*)(attn::AttentionOp, std::string &reason);

/// A fused attention writes its result in the order of axes in which it is wanted: a rearrangement of it alone is
/// folded in.
void absorbRearrangements(mlir::func::FuncOp, ShapeOfFused);

/// Operands of fused attentions and of matrix products become f32 by `arith.extf`, results narrow by `arith.truncf`:
/// their kernels are made of f32 alone, and what a stage widens grows with the operand only.
void widenOperands(mlir::func::FuncOp, ShapeOfFused);

} // namespace skewer
