// Finds the use of an operand: follows it through maps to the first arithmetic that it meets, and follows the result of
// that arithmetic.
#include "tools/skewer/SeedByUse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Fusion/Views.h"
#include "tools/skewer/Npy.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <algorithm>
#include <cmath>
#include <functional>

using namespace mlir;

namespace skewer::driver {
namespace {

// Least number that hides a key when 1 - mask is multiplied with it; smaller numbers scale gates.
constexpr double kHides = 100;

/// Returns whether an operation moves or converts an element without changing its number: maps, einsums with ones,
/// conversions.
bool isMove(Operation *op) {
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) || mapOf(op))
    return true;
  auto einsum = dyn_cast<attn::EinsumOp>(op);
  return einsum && resolve(einsum).contracted.empty() &&
         llvm::count_if(einsum.getInputs(), [](Value input) { return !splatValue(input); }) == 1;
}

/// Returns the argument that a tensor is equal to, apart from moves; null if there is none.
BlockArgument argumentOf(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isMove(op))
      return {};
    Value from;
    for (Value operand : op->getOperands())
      if (!splatValue(operand) && isa<RankedTensorType>(operand.getType()) && !from)
        from = operand;
    if (!from)
      return {};
    tensor = from;
  }
  return cast<BlockArgument>(tensor);
}

/// Calls `visit` with each operation that reads a tensor, through moves, and with the value that it reads.
void forReaders(Value tensor, const std::function<void(Operation *, Value)> &visit, unsigned depth = 0) {
  constexpr unsigned kDeepest = 16;
  for (Operation *user : tensor.getUsers()) {
    if (isMove(user) && depth < kDeepest)
      forReaders(user->getResult(0), visit, depth + 1);
    else
      visit(user, tensor);
  }
}

/// Returns whether a tensor, through signs and moves, is multiplied with a large number (or divided by a small one),
/// which hides keys.
bool meetsLargeNumber(Value tensor, unsigned depth = 0) {
  constexpr unsigned kDeepest = 4;
  bool found = false;
  forReaders(tensor, [&](Operation *op, Value read) {
    if (isa<arith::NegFOp>(op) && depth < kDeepest)
      found |= meetsLargeNumber(op->getResult(0), depth + 1);
    bool multiplies = isa<arith::MulFOp>(op);
    if (!multiplies && !(isa<arith::DivFOp>(op) && op->getOperand(0) == read))
      return;
    auto number = splatValue(op->getOperand(op->getOperand(0) == read ? 1 : 0));
    if (number)
      found |= std::fabs(*number) >= kHides || (!multiplies && std::fabs(*number) <= 1 / kHides);
  });
  return found;
}

/// Returns whether an exponential is taken of a tensor, through signs, multiples and sums: values far from 0 would make
/// it infinite.
bool meetsExponential(Value tensor, unsigned depth = 0) {
  constexpr unsigned kDeepest = 8;
  bool found = false;
  forReaders(tensor, [&](Operation *op, Value) {
    found |= isa<math::ExpOp>(op);
    if (isa<arith::NegFOp, arith::MulFOp, arith::DivFOp, arith::AddFOp, arith::SubFOp, arith::SelectOp>(op) &&
        depth < kDeepest)
      found |= meetsExponential(op->getResult(0), depth + 1);
  });
  return found;
}

/// Returns whether a tensor is a sum of products of operands, or is computed from such a sum with numbers and sums.
bool isOfProducts(Value tensor, unsigned depth = 0) {
  constexpr unsigned kDeepest = 8;
  Operation *op = depth < kDeepest ? tensor.getDefiningOp() : nullptr;
  if (!op)
    return false;
  if (auto einsum = dyn_cast<attn::EinsumOp>(op); einsum && !resolve(einsum).contracted.empty())
    return einsum.getInputs().size() > 1;
  bool goesOn = isMove(op) || isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op);
  return goesOn && llvm::any_of(op->getOperands(), [&](Value operand) {
           return isa<RankedTensorType>(operand.getType()) && isOfProducts(operand, depth + 1);
         });
}

/// Returns whether a softmax is taken of a tensor, through sums and numbers.
bool meetsSoftmax(Value tensor, unsigned depth = 0) {
  constexpr unsigned kDeepest = 8;
  bool found = false;
  forReaders(tensor, [&](Operation *op, Value) {
    found |= isa<attn::SoftmaxOp>(op);
    if (isa<arith::AddFOp, arith::SubFOp>(op) && depth < kDeepest)
      found |= meetsSoftmax(op->getResult(0), depth + 1);
  });
  return found;
}

int64_t elementsOfType(Value tensor) {
  int64_t count = 1;
  for (int64_t size : cast<RankedTensorType>(tensor.getType()).getShape())
    count *= std::max<int64_t>(size, 1);
  return count;
}

class Uses {
public:
  explicit Uses(func::FuncOp function) : uses(function.getNumArguments(), OperandUse::Any) {
    for (BlockArgument argument : function.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        forReaders(argument, [&](Operation *op, Value read) { look(argument, op, read); });
  }
  std::vector<OperandUse> uses;

private:
  void say(BlockArgument argument, OperandUse use) {
    if (uses[argument.getArgNumber()] == OperandUse::Any)
      uses[argument.getArgNumber()] = use;
  }
  void look(BlockArgument argument, Operation *op, Value read) {
    if (!isa<arith::AddFOp, arith::SubFOp>(op))
      return;
    Value other = op->getOperand(op->getOperand(0) == read ? 1 : 0), result = op->getResult(0);
    if (isa<arith::SubFOp>(op) && splatValue(other) == 1.0)
      return say(argument, meetsLargeNumber(result) ? OperandUse::Mask : OperandUse::Gate);
    BlockArgument with = argumentOf(other);
    if (isa<arith::SubFOp>(op) && with && !meetsExponential(result)) {
      say(argument, with == argument ? OperandUse::Times : OperandUse::Far);
      return say(with, with == argument ? OperandUse::Times : OperandUse::Far);
    }
    bool isShared = 2 * elementsOfType(argument) <= elementsOfType(result);
    auto shape = cast<RankedTensorType>(argument.getType()).getShape();
    bool hasKeys = shape.size() > 1 && shape.back() == cast<RankedTensorType>(result.getType()).getShape().back();
    if (isShared && hasKeys && isOfProducts(other) && meetsSoftmax(result))
      say(argument, OperandUse::Additive);
  }
};

/// Replaces `normal`, the seeded numbers, with numbers that fit the use.
void shape(std::vector<double> &normal, OperandUse use, int64_t row) {
  constexpr double kHiddenBelow = -0.6745; // the lowest quarter of normal numbers
  constexpr double kLate = 1000, kNearly = 0.01, kSteps = 8, kNever = -1e9;
  double at = kLate;
  for (int64_t n = 0; n < int64_t(normal.size()); ++n) {
    double &number = normal[n];
    if (n % std::max<int64_t>(row, 1) == 0)
      at = kLate;
    switch (use) {
    case OperandUse::Any:
      break;
    case OperandUse::Mask:
      number = number < kHiddenBelow ? 0 : 1;
      break;
    case OperandUse::Gate:
      number = 1 - kNearly * std::min(std::fabs(number), 1.0);
      break;
    case OperandUse::Times: // in steps that f32 represents exactly
      at += std::round(kSteps * std::fabs(number)) / kSteps;
      number = at;
      break;
    case OperandUse::Far:
      number += kLate;
      break;
    case OperandUse::Additive:
      // The first key of a row stays visible.
      number = number < kHiddenBelow && n % std::max<int64_t>(row, 1) != 0 ? kNever : number;
      break;
    }
  }
}
} // namespace

std::vector<OperandUse> usesOf(func::FuncOp function) { return Uses(function).uses; }

void seedByUse(Operands &operands, const KernelPlan &plan, func::FuncOp function) {
  std::vector<OperandUse> uses = usesOf(function);
  for (size_t k = 0; k < plan.inputs.size() && k < uses.size(); ++k) {
    const TensorArgument &input = plan.inputs[k];
    bool isPlain = !input.deviation && !input.mean && !input.between && input.type == ElementType::F32;
    if (uses[k] == OperandUse::Any || !isPlain || !llvm::is_contained(operands.seeded, input.name))
      continue;
    Array &array = operands.inputs[k];
    shape(array.values, uses[k], array.shape.empty() ? 1 : array.shape.back());
    for (double &value : array.values)
      value = roundTo(input.type, value);
  }
}

} // namespace skewer::driver
