// Conditions on values that a kernel computes: x > y, isfinite(x), and what is chosen by them. They are tensors of 1
// and 0.
#include "dialect/IR/BuiltinFunctions.h"
#include "dialect/Language/Emitter.h"
#include "dialect/Subscript/Simplifier.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace llvm;
using namespace mlir;

namespace skewer::language {

namespace {
enum class Truth { None, OfPositions, OfValues };

bool isComparison(StringRef function) {
  return function == "<" || function == "<=" || function == "==" || function == "!=";
}

/// Whether the tensor is of 1 and 0 that say what holds, of values or of positions alone.
Truth truthOf(mlir::Value tensor) {
  auto both = [](mlir::Value a, mlir::Value b) {
    Truth first = truthOf(a), second = truthOf(b);
    return first == Truth::None || second == Truth::None ? Truth::None : std::max(first, second);
  };
  Operation *op = tensor.getDefiningOp();
  if (auto apply = dyn_cast_or_null<attn::ApplyOp>(op))
    return isComparison(apply.getFunction())      ? Truth::OfValues
           : apply.getFunction() == attn::kChoice ? both(apply.getInputs()[1], apply.getInputs()[2])
                                                  : Truth::None;
  if (auto position = dyn_cast_or_null<attn::PositionOp>(op)) {
    auto expression = subscript::parse(std::string_view(position.getExpression()));
    return expression && subscript::isPredicate(*expression) ? Truth::OfPositions : Truth::None;
  }
  if (isa_and_nonnull<arith::MinimumFOp, arith::MaximumFOp>(op))
    return both(op->getOperand(0), op->getOperand(1));
  if (isa_and_nonnull<attn::RearrangeOp, attn::ReshapeOp, attn::SliceOp, attn::GatherOp>(op))
    return truthOf(op->getOperand(0));
  if (auto einsum = dyn_cast_or_null<attn::EinsumOp>(op); einsum && attn::resolve(einsum).contracted.empty()) {
    // Along a run-time size a tensor is repeated by ones.
    SmallVector<mlir::Value> inputs(einsum.getInputs());
    llvm::erase_if(inputs, [](mlir::Value input) { return isa_and_nonnull<tensor::SplatOp>(input.getDefiningOp()); });
    return inputs.size() == 1 ? truthOf(inputs[0]) : Truth::None;
  }
  return Truth::None;
}
} // namespace

bool Emitter::isConditionOnValues(const Value &value) {
  return value.is(ValueKind::Tensor) && truthOf(value.tensor) == Truth::OfValues;
}

/// a < b of two values one of which, at least, is a tensor.
Value Emitter::compare(const Node &node, StringRef op, Value left, Value right) {
  bool swaps = op == ">" || op == ">=";
  StringRef name = op == ">" ? "<" : op == ">=" ? "<=" : op;
  for (auto [value, operand] : {std::pair(&left, &node.operands[0]), std::pair(&right, &node.operands[1])})
    if (!refuseAbsent((*operand)->text, *value, "'" + op.str() + "' compares"))
      return {};
  if (swaps)
    std::swap(left, right);
  return applied(node, *attn::findElementFunction(context, name), {std::move(left), std::move(right)});
}

/// P and Q, P or Q, where one of them at least is a tensor.
Value Emitter::joinTruths(const Node &node, StringRef op, Value left, Value right) {
  for (auto [value, operand] : {std::pair(&left, &node.operands[0]), std::pair(&right, &node.operands[1])})
    if (!isConditionOnValues(*value) && !(value->is(ValueKind::Index) && subscript::isPredicate(value->index)) &&
        !(value->isWhole() && (value->integer == 0 || value->integer == 1))) {
      error((*operand)->text, "'" + op.str() + "' takes conditions, found " + describe(*value));
      if (value->is(ValueKind::Tensor))
        diagnostics.note("a tensor is compared first: x != 0");
      return {};
    }
  return arithmetic(node, op == "and" ? "min" : "max", std::move(left), std::move(right));
}

/// `yes` at the elements at which a condition on values holds, else `no`.
Value Emitter::chooseByValues(const Node &node, const Node &place, const Value &condition, Value yes, Value no) {
  if (!isConditionOnValues(condition)) {
    error(place.text, std::string(node.kind == NodeKind::Call ? "'select'" : "'if'") + " takes a condition, found " +
                          describe(condition));
    diagnostics.note("a tensor is compared first: x != 0");
    return {};
  }
  return applied(node, *attn::findElementFunction(context, attn::kChoice), {condition, std::move(yes), std::move(no)});
}

} // namespace skewer::language
