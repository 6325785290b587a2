// Runs the steps of the preparation in order: reshapes, orders of results, types, alignment, equal stages.
#include "passes/Stages/PrepareStages.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Stages/AlignedOperands.h"
#include "passes/Stages/EqualStages.h"
#include "passes/Stages/Stages.h"

using namespace mlir;
using namespace skewer;

/// Turns rearrangements of arithmetic results that keep the order of elements into reshapes. A reshape is no stage of
/// its own, and the arithmetic may then be part of the stage before it. A copy that a result needs stays, because its
/// operand has other readers too.
static void reshapeInPlace(func::FuncOp function) {
  SmallVector<Operation *> moves;
  for (auto move : function.getOps<attn::RearrangeOp>())
    if (Operation *producer = move.getInput().getDefiningOp();
        producer && isArithmetic(producer) && producer->hasOneUse())
      moves.push_back(move);
  RewritePatternSet patterns(function.getContext());
  attn::RearrangeOp::getCanonicalizationPatterns(patterns, function.getContext());
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  (void)applyOpPatternsGreedily(moves, std::move(patterns), config); // if no pattern fits, nothing changes
  // Rounding moves in front of the reshape, so that it is part of that stage too.
  SmallVector<attn::ReshapeOp> reshapes(function.getOps<attn::ReshapeOp>());
  for (attn::ReshapeOp reshape : reshapes) {
    Operation *producer = reshape.getInput().getDefiningOp();
    auto rounded = reshape->hasOneUse() ? dyn_cast<arith::TruncFOp>(*reshape->user_begin()) : arith::TruncFOp();
    if (!rounded || !producer || !isArithmetic(producer) || !producer->hasOneUse())
      continue;
    OpBuilder builder(rounded);
    auto own = cast<RankedTensorType>(reshape.getInput().getType());
    Value narrow = arith::TruncFOp::create(builder, rounded.getLoc(),
                                           own.clone(getElementTypeOrSelf(rounded.getType())), reshape.getInput());
    rounded.replaceAllUsesWith(
        attn::ReshapeOp::create(builder, reshape.getLoc(), rounded.getType(), narrow).getResult());
    rounded.erase();
    reshape.erase();
  }
}

void skewer::prepareStages(func::FuncOp function, ShapeOfFused shapeOf) {
  absorbRearrangements(function, shapeOf);
  reshapeInPlace(function);
  widenOperands(function, shapeOf);
  alignOperands(function);
  mergeEqualStages(function);
}
