#include "passes/Analysis/Elementwise.h"
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

bool skewer::isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
         (isa<attn::ApplyOp>(op) || isa<arith::ArithDialect, math::MathDialect>(op->getDialect()));
}
