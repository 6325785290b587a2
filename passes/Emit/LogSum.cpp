// Emits the log-sum-exp as a comparison and a selection.
#include "passes/Emit/LogSum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

Value skewer::logSumExp(ImplicitLocOpBuilder &b, Value largest, Value total) {
  auto infinity = b.getF32FloatAttr(std::numeric_limits<float>::infinity());
  Value isInfinite =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, largest, arith::ConstantOp::create(b, infinity));
  return arith::SelectOp::create(b, isInfinite, largest, total);
}
