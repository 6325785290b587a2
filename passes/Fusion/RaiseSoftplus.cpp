// attn-raise-softplus. A sigmoid below exp(-87.3) is smaller than 2^-126 and counts as 0, whose logarithm is -inf.
// After one such gate, no running sum of logarithms is a finite number. exp(88.8) is infinite likewise.
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Views.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNRAISESOFTPLUS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;

namespace {
/// Returns the exponent x of a sum 1 + exp(x); null if the sum has another form.
Value exponentOf(Value sum) {
  auto add = sum.getDefiningOp<arith::AddFOp>();
  for (unsigned side : {0u, 1u}) {
    if (!add || splatValue(add->getOperand(1 - side)) != 1.0)
      continue;
    if (auto power = add->getOperand(side).getDefiningOp<math::ExpOp>())
      return power.getOperand();
  }
  return {};
}

/// Computes max(x, 0) + log(1 + exp(-|x|)). The logarithm is 2 artanh(e / (2 + e)); the rest of its series after nine
/// terms is below the precision of f32.
Value softplus(ImplicitLocOpBuilder &b, Value x) {
  auto number = [&](double value) { return numberLike(b, b.getLoc(), x, value); };
  Value power = math::ExpOp::create(b, arith::NegFOp::create(b, math::AbsFOp::create(b, x)));
  Value share = arith::DivFOp::create(b, power, arith::AddFOp::create(b, power, number(2)));
  Value square = arith::MulFOp::create(b, share, share);
  constexpr int kLastOfSeries = 17;
  Value series = number(2.0 / kLastOfSeries);
  for (int odd = kLastOfSeries - 2; odd > 0; odd -= 2)
    series = arith::AddFOp::create(b, number(2.0 / odd), arith::MulFOp::create(b, square, series));
  Value positive = arith::MaximumFOp::create(b, x, number(0));
  return arith::AddFOp::create(b, positive, arith::MulFOp::create(b, share, series));
}

struct RaiseSoftplus : skewer::impl::AttnRaiseSoftplusBase<RaiseSoftplus> {
  void runOnOperation() override {
    SmallVector<math::LogOp> logarithms(getOperation().getOps<math::LogOp>());
    for (math::LogOp op : logarithms) {
      Value of = op.getOperand();
      auto quotient = of.getDefiningOp<arith::DivFOp>();
      bool isInverse = quotient && splatValue(quotient.getLhs()) == 1.0;
      Value exponent = exponentOf(isInverse ? quotient.getRhs() : of);
      if (!exponent || !isa<RankedTensorType>(op.getType()))
        continue;
      ImplicitLocOpBuilder b(op.getLoc(), op);
      Value result = softplus(b, exponent);
      op.getResult().replaceAllUsesWith(isInverse ? arith::NegFOp::create(b, result).getResult() : result);
      op.erase();
    }
    eraseDead(getOperation());
  }
};
} // namespace
