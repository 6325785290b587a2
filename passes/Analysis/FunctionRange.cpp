// Interval arithmetic, operation by operation (Moore 1966).
#include "passes/Analysis/FunctionRange.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Analysis/AttentionShape.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace skewer;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr RealRange kAnything{-kInfinity, kInfinity};

/// Returns the hull of the four corners; 0 × ∞ counts as 0, the product of 0 and any finite number.
template <typename Combine> static RealRange hull(RealRange x, RealRange y, Combine combine) {
  RealRange result{kInfinity, -kInfinity};
  for (double a : {x.low, x.high})
    for (double b : {y.low, y.high}) {
      double corner = combine(a, b);
      result = {std::min(result.low, corner), std::max(result.high, corner)};
    }
  return result;
}

static RealRange product(RealRange x, RealRange y) {
  return hull(x, y, [](double a, double b) { return a == 0 || b == 0 ? 0 : a * b; });
}

static RealRange sum(RealRange x, RealRange y) {
  double low = x.low + y.low, high = x.high + y.high; // NaN for opposite infinities
  return {std::isnan(low) ? -kInfinity : low, std::isnan(high) ? kInfinity : high};
}

static RealRange quotient(RealRange x, RealRange y) {
  if (y.low <= 0 && y.high >= 0)
    return kAnything;
  return product(x, {1 / y.high, 1 / y.low});
}

/// Returns the range of a rising function.
template <typename Function> static RealRange rising(RealRange x, Function function) {
  return {function(x.low), function(x.high)};
}

RealRange skewer::rangeOf(Operation *op, ArrayRef<RealRange> operands) {
  RealRange x = operands.empty() ? kAnything : operands[0], y = operands.size() < 2 ? kAnything : operands[1];
  return llvm::TypeSwitch<Operation *, RealRange>(op)
      .Case([&](arith::AddFOp) { return sum(x, y); })
      .Case([&](arith::SubFOp) {
        return sum(x, {-y.high, -y.low});
      })
      .Case([&](arith::NegFOp) {
        return RealRange{-x.high, -x.low};
      })
      .Case([&](arith::MulFOp) { return product(x, y); })
      .Case([&](arith::DivFOp) { return quotient(x, y); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return RealRange{std::max(x.low, y.low), std::max(x.high, y.high)};
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return RealRange{std::min(x.low, y.low), std::min(x.high, y.high)};
      })
      .Case([&](arith::SelectOp) {
        const RealRange &otherwise = operands[2];
        return RealRange{std::min(y.low, otherwise.low), std::max(y.high, otherwise.high)};
      })
      .Case([&](arith::UIToFPOp convert) {
        return getElementTypeOrSelf(convert.getIn().getType()).isInteger(1) ? RealRange{0, 1} : kAnything;
      })
      .Case([&](arith::SIToFPOp convert) {
        unsigned bits = getElementTypeOrSelf(convert.getIn().getType()).getIntOrFloatBitWidth();
        return RealRange{-std::ldexp(1, int(bits) - 1), std::ldexp(1, int(bits) - 1)};
      })
      .Case([&](arith::ExtFOp convert) {
        constexpr double kLargestF8E4M3 = 448;
        bool isShort = isa<Float8E4M3FNType>(getElementTypeOrSelf(convert.getIn().getType()));
        return isShort ? RealRange{-kLargestF8E4M3, kLargestF8E4M3} : x;
      })
      .Case([&](arith::TruncFOp) { return x; })
      .Case([&](math::AbsFOp) {
        return RealRange{x.low > 0 ? x.low : std::max(0.0, -x.high), std::max(-x.low, x.high)};
      })
      .Case<math::SinOp, math::CosOp>([](auto) {
        return RealRange{-1, 1};
      })
      .Case([&](math::ExpOp) { return rising(x, [](double number) { return std::exp(number); }); })
      .Case([&](math::TanhOp) { return rising(x, [](double number) { return std::tanh(number); }); })
      .Case([&](math::ErfOp) { return rising(x, [](double number) { return std::erf(number); }); })
      .Default([](Operation *) { return kAnything; });
}

RealRange skewer::rangeOf(Region &through) {
  if (through.empty())
    return kAnything;
  llvm::DenseMap<Value, RealRange> known;
  auto of = [&](Value value) {
    FloatAttr constant;
    if (matchPattern(value, m_Constant(&constant)))
      return RealRange{constant.getValueAsDouble(), constant.getValueAsDouble()};
    auto found = known.find(value);
    return found == known.end() ? kAnything : found->second;
  };
  Block &block = through.front();
  for (Operation &op : block.without_terminator())
    known[op.getResult(0)] = skewer::rangeOf(&op, llvm::map_to_vector(op.getOperands(), of));
  return of(block.getTerminator()->getOperand(0));
}

bool skewer::hidesByFunction(const AttentionShape &shape) {
  bool says = false;
  if (shape.through && !shape.direct)
    shape.through->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        FloatAttr constant;
        says |= matchPattern(operand, m_Constant(&constant)) && constant.getValueAsDouble() == -kInfinity;
      }
    });
  return says;
}

bool skewer::hidesKeys(const AttentionShape &shape) { return !shape.masks.empty() || hidesByFunction(shape); }
