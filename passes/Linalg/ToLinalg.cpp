// attn-to-linalg: converts the dialect to linalg on tensors, for pipelines of other compilers.
#include "dialect/IR/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Linalg/ConvertOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNTOLINALG
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {
/// Returns the run-time index operands of an operation and of the operations in its region.
attn::IndexOperands indicesIn(Operation *op) {
  attn::IndexOperands all;
  op->walk([&](Operation *inner) {
    for (auto &[name, operand] : attn::indicesOf(inner))
      all.insert({name, operand});
  });
  return all;
}

struct ToLinalg : skewer::impl::AttnToLinalgBase<ToLinalg> {
  void runOnOperation() override {
    SmallVector<Operation *> operations;
    getOperation().walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa_and_nonnull<attn::AttnDialect>(op->getDialect()) && !isa<attn::TermOp, attn::YieldOp, attn::IndexOp>(op))
        operations.push_back(op);
    });
    for (Operation *op : operations)
      if (!convert(op))
        return signalPassFailure();
    // These come last, because expressions use their names and ranges.
    getOperation().walk([](attn::IndexOp index) {
      index.replaceAllUsesWith(index.getInput());
      index.erase();
    });
  }

  bool convert(Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Structured linalg(b, indicesIn(op));
    Converted results =
        llvm::TypeSwitch<Operation *, Converted>(op)
            .Case([&](attn::EinsumOp einsum) { return convertEinsum(einsum, b, linalg); })
            .Case([&](attn::IndexMapOpInterface map) { return convertIndexMap(map, b, linalg); })
            .Case([&](attn::ConcatOp concat) { return convertConcat(concat, b); })
            .Case([&](attn::ExtremumOp extremum) { return convertExtremum(extremum, b, linalg); })
            .Case([&](attn::PositionOp position) { return convertPosition(position, b, linalg); })
            .Case([&](attn::ApplyOp apply) { return convertApply(apply, b, linalg); })
            .Case<attn::SoftmaxOp, attn::LogSumExpOp>([&](Operation *rows) { return convertRows(rows, b, linalg); })
            .Case([&](attn::AttentionOp attention) { return convertAttention(attention, b, linalg); })
            .Default([](Operation *) { return Converted(); });
    if (results.size() != op->getNumResults() || !linalg.failure.empty()) {
      op->emitOpError() << "has no form in linalg" << (linalg.failure.empty() ? std::string() : ": " + linalg.failure);
      return false;
    }
    op->replaceAllUsesWith(results);
    op->erase();
    return true;
  }
};
} // namespace
