// Divides a kernel into a list of stages: some operations get a loop and a buffer of their own, others are computed
// inside the stage that reads them. All lowerings, the schedules and `explain` use this one division, so that they
// agree on what is in memory.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/AttentionShape.h"
#include <functional>

namespace skewer {

enum class StageKind {
  Attention,   // fused: has phases of its own, see CpuKernel
  Rows,        // an attention that cannot fuse: one row of scores at a time
  Einsum,      // a sum of products, or an extremum
  Elementwise, // arithmetic and index maps, in one loop
  Softmax      // a softmax or a logsumexp: rows of one tensor
};
/// Returns "attention", "attention by rows", "einsum", "elementwise" or "softmax".
const char *nameOf(StageKind);

struct Stage {
  StageKind kind;
  mlir::Value result;                          // goes to a buffer, or to an output of the kernel
  llvm::SmallVector<mlir::Operation *> folded; // computed element by element where they are read
  std::string reason;                          // why an attention does not fuse
  /// A matrix product or a fused attention, if the arithmetic of `result` is applied to its elements before they are
  /// stored. Null: the stage's loops compute `result` itself.
  mlir::Operation *finishes = nullptr;

  /// Returns the operation that the stage's loops compute.
  mlir::Operation *maker() const { return finishes ? finishes : result.getDefiningOp(); }
};
/// Returns whether the stage of an operation may end with arithmetic on the first result, up to `root`: nothing reads a
/// further result before `root`.
bool mayEndAt(mlir::Operation *, mlir::Operation *root);

/// Returns all results of a stage: its result and, if it is of an attention, further ones that the attention has, such
/// as the log-sum-exp of its rows.
llvm::SmallVector<mlir::Value> resultsOf(const Stage &);

/// Decides which einsums are matrix products. Such an einsum computes arithmetic and index maps in front of its rows
/// while it packs them. It also computes the arithmetic behind it (a gate, a residual, a conversion) when it stores its
/// elements, and so does an attention that a processor fuses.
using IsMatmul = std::function<bool(attn::EinsumOp)>;
/// Returns the stages in the order in which they run. An operation is a stage if another stage reads its whole result
/// from memory; arithmetic with one reader, and index maps, are part of the stage that reads them. Without `packsRows`,
/// rows of matrix products are read from memory.
std::vector<Stage> stagesOf(mlir::func::FuncOp, const IsMatmul &isMatmul = {}, bool packsRows = true);

/// Gives every result of the function memory of its own: a result that is an argument, a number, or shares the memory
/// of an earlier result becomes a copy (a rearrangement that moves nothing).
void separateResults(mlir::func::FuncOp);

/// Returns the number of elements of a tensor; run-time sizes count as 1.
int64_t countElements(mlir::Value tensor);
/// Returns the value whose memory a value uses: reshapes move nothing.
mlir::Value memoryOf(mlir::Value);

/// Returns whether the operation is an einsum that sums nothing and reads no run-time indices: a product of index maps.
bool isProduct(mlir::Operation *);
/// Returns whether the operation moves elements, or multiplies moved elements.
bool isMap(mlir::Operation *);
/// Returns whether the operation converts numbers of fewer bits, f16, bf16, i8 or f8E4M3FN, to f32.
bool isWidening(mlir::Operation *);
/// Returns whether the value is an argument of f16 or bf16, widened. A reader that packs it reads the argument, and
/// widens the elements only if its engine multiplies f32.
bool isWidenedArgument(mlir::Value);
/// Returns the value before widening; the value itself if it is not widened.
mlir::Value widenedFrom(mlir::Value);
/// Returns whether each element of the result is computed from an element of each operand: by arithmetic, an index map,
/// or from positions.
bool isPointwise(mlir::Operation *);
/// Returns whether the operation works element by element, with one type except for conversions.
bool isArithmetic(mlir::Operation *);

/// Returns the shape that the CPU lowering needs to fuse an attention, once it has a schedule: only the first size of
/// an operand may be a run-time size, and operands are walked as `shapeOfAttention` says.
OrRefusal<AttentionShape> walkedShape(attn::AttentionOp);
/// Returns the same for an attention that has a schedule for a processor.
OrRefusal<AttentionShape> fusedShape(attn::AttentionOp);
bool isScheduledForCpu(attn::AttentionOp);
constexpr const char *kNotScheduled = "it has no schedule";

/// Decides which attentions fuse: `fusedShape` in a function that has schedules, `walkedShape` before they are chosen.
using ShapeOfFused = OrRefusal<AttentionShape> (*)(attn::AttentionOp);

/// Makes fused attentions write their results in the order of axes that the reader needs: folds a rearrangement that is
/// the only reader into the attention.
void absorbRearrangements(mlir::func::FuncOp, ShapeOfFused);

/// Widens operands of fused attentions and of matrix products to f32 by `arith.extf`, and narrows results by
/// `arith.truncf`: their sums are f32. What an engine multiplies in fewer bits, it reads before the widening.
void widenOperands(mlir::func::FuncOp, ShapeOfFused);

} // namespace skewer
