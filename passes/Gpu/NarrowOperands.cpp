// Changes the types of operands and results of attentions on a GPU.
#include "passes/Gpu/NarrowOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Reindex.h"
#include "passes/Gpu/Shape/ProductType.h"
#include "passes/Stages/NarrowRows.h"
#include "passes/Stages/Stages.h"

using namespace mlir;
using namespace skewer;

static bool isNarrow(Value tensor) {
  return getElementTypeOrSelf(tensor).isF16() || getElementTypeOrSelf(tensor).isBF16();
}

static void replaceOperand(attn::AttentionOp attention, Value from, Value to) {
  attention->walk([&](Operation *reader) { reader->replaceUsesOfWith(from, to); });
}

/// Returns the value before widening, with new reshapes where there are reshapes in between; the value itself if it is
/// not widened.
static Value beforeWidening(OpBuilder &b, Value value) {
  if (auto widened = value.getDefiningOp<arith::ExtFOp>(); widened && isNarrow(widened.getIn()))
    return beforeWidening(b, widened.getIn());
  if (auto reshape = value.getDefiningOp<attn::ReshapeOp>()) {
    Value input = beforeWidening(b, reshape.getInput());
    if (input == reshape.getInput())
      return value;
    IRMapping mapping;
    mapping.map(reshape.getInput(), input);
    Operation *narrow = b.clone(*reshape, mapping);
    auto type = cast<RankedTensorType>(value.getType());
    narrow->getResult(0).setType(type.clone(getElementTypeOrSelf(input)));
    return narrow->getResult(0);
  }
  return value;
}

/// Makes the attention read rows of 8 bits by operations of its own, which a kernel does not compute but takes as a
/// description of the rows. Returns whether there are such rows.
static bool ownNarrowRows(OpBuilder &b, attn::AttentionOp attention) {
  bool some = false;
  for (Value operand : operandsOf(attention))
    if (Value rows = asNarrowRows(b, operand)) {
      replaceOperand(attention, operand, rows);
      some = true;
    }
  return some;
}

void skewer::gpu::narrowOperands(func::FuncOp function) {
  SmallVector<attn::AttentionOp> attentions(function.getOps<attn::AttentionOp>());
  bool haveBytes = false;
  for (attn::AttentionOp attention : attentions) {
    ImplicitLocOpBuilder b(attention.getLoc(), attention);
    for (Value operand : operandsOf(attention)) {
      Value stored = beforeWidening(b, operand);
      if (Value memory = memoryOf(stored); isa_and_nonnull<arith::ConstantOp, tensor::SplatOp>(memory.getDefiningOp()))
        stored = moveToEnd(b, b.getLoc(), stored);
      if (stored != operand)
        replaceOperand(attention, operand, stored);
    }
    auto shape = shapeOfAttention(attention, /*picks=*/false);
    if (shape && ownNarrowRows(b, attention))
      haveBytes = true;
    if (Type products = shape ? typeOfProducts(attention, *shape) : Type(); products && !products.isF32())
      for (Value operand : factorsOf(attention, *shape)) {
        bool computed = operand.getDefiningOp() && getElementTypeOrSelf(operand).isF32() && !narrowRows(operand);
        if (!computed ||
            !llvm::all_of(operand.getUsers(), [&](Operation *user) { return attention->isAncestor(user); }))
          continue;
        auto type = cast<RankedTensorType>(operand.getType()).clone(products);
        replaceOperand(attention, operand, arith::TruncFOp::create(b, type, operand));
      }
    Value result = attention.getResult();
    if (auto rounded = result.hasOneUse() ? dyn_cast<arith::TruncFOp>(*result.user_begin()) : arith::TruncFOp()) {
      attention.getResult().setType(cast<RankedTensorType>(rounded.getType()));
      rounded.getResult().replaceAllUsesWith(result);
      rounded.erase();
    }
  }
  // Erase widenings without readers, because each would be a stage of its own.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isa<arith::ExtFOp, attn::ReshapeOp>(op) && op.use_empty())
      op.erase();
  if (haveBytes) // what scaled the operands
    eraseDead(function);
}
