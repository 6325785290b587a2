// attn-keep-content: removes the positions from a layer, to measure what they cost.
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/TermClass.h"
#include "passes/Passes.h"

using namespace mlir;

namespace skewer {
#define GEN_PASS_DEF_ATTNKEEPCONTENT
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {

/// Returns the term that stays: the first of class content, otherwise the first of all, since a score has at least one.
skewer::attn::TermOp contentOf(skewer::attn::AttentionOp attention) {
  skewer::attn::TermOp first;
  for (auto term : attention.getScore().getOps<skewer::attn::TermOp>()) {
    if (skewer::analyse(term).kind == skewer::TermKind::Content)
      return term;
    if (!first)
      first = term;
  }
  return first;
}

/// Makes the softmax of the scores the weights of the layer. The result that was the sum of the weights becomes the
/// logarithm of the softmax's sum.
void keepSoftmax(skewer::attn::AttentionOp attention) {
  if (attention.isPlainSoftmax())
    return;
  OpBuilder builder(attention);
  Value rows = attention.getTotal() ? attention.getTotal() : attention.getLse();
  auto plain = skewer::attn::AttentionOp::create(
      builder, attention.getLoc(), attention.getResult().getType(), attention.getSpaceAttr(), attention.getSizesAttr(),
      attention.getMaskAttr(), attention.getValueSpecAttr(), attention.getValue(), attention.getScheduleAttr(),
      rows ? rows.getType() : Type(), Type(), false,
      attention.getWeights() ? attention.getWeights().getType() : Type());
  plain.getScore().takeBody(attention.getScore());
  plain.getValues().takeBody(attention.getValues());
  plain.walk([](skewer::attn::TermOp term) { term.setSum(0); });
  skewer::attn::bindIndices(plain);
  attention.getResult().replaceAllUsesWith(plain.getResult());
  if (rows)
    rows.replaceAllUsesWith(plain.getLse());
  if (Value weights = attention.getWeights())
    weights.replaceAllUsesWith(plain.getWeights());
  attention.erase();
}

struct KeepContent : skewer::impl::AttnKeepContentBase<KeepContent> {
  void runOnOperation() override {
    SmallVector<Operation *> positions;
    SmallVector<skewer::attn::AttentionOp> attentions;
    getOperation().walk([&](skewer::attn::AttentionOp attention) { attentions.push_back(attention); });
    llvm::for_each(attentions, keepSoftmax);
    getOperation().walk([&](skewer::attn::AttentionOp attention) {
      skewer::attn::TermOp content = contentOf(attention);
      attention.walk([&](skewer::attn::TermOp term) {
        if (term != content)
          positions.push_back(term);
      });
    });
    for (Operation *term : positions)
      term->erase();
    // Operations that only prepared the tables of those terms go too.
    for (Operation &operation : llvm::make_early_inc_range(llvm::reverse(getOperation().getBody().front())))
      if (isOpTriviallyDead(&operation))
        operation.erase();
  }
};

} // namespace
