// Conditions on values that a kernel computes: x > y, isfinite(x), and choices by them. Conditions are tensors of 1 and
// 0.
#include "dialect/IR/BuiltinFunctions.h"
#include "dialect/Language/Typer.h"
#include "dialect/Subscript/Simplifier.h"

using namespace llvm;

namespace skewer::language {

namespace {
enum class Truth { None, OfPositions, OfValues };

bool isComparison(StringRef function) {
  return function == "<" || function == "<=" || function == "==" || function == "!=";
}

bool isRuntimeSplat(const typed::Tensor &tensor) {
  return tensor.as<typed::Splat>() &&
         llvm::any_of(tensor.dimensions, [](const Dimension &d) { return d.isRuntime(); });
}

/// Returns whether the tensor is a condition, of 1 and 0, and whether it depends on values or on positions alone.
Truth truthOf(const typed::Tensor &tensor) {
  const std::vector<typed::Tensor *> &operands = tensor.operands;
  auto both = [](const typed::Tensor &a, const typed::Tensor &b) {
    Truth first = truthOf(a), second = truthOf(b);
    return first == Truth::None || second == Truth::None ? Truth::None : std::max(first, second);
  };
  if (auto *apply = tensor.as<typed::Apply>())
    return isComparison(apply->function)      ? Truth::OfValues
           : apply->function == attn::kChoice ? both(*operands[1], *operands[2])
                                              : Truth::None;
  if (auto *position = tensor.as<typed::Position>())
    return subscript::isPredicate(position->expression) ? Truth::OfPositions : Truth::None;
  if (auto *elements = tensor.as<typed::Elementwise>();
      elements && (elements->function == typed::Function::Minimum || elements->function == typed::Function::Maximum))
    return both(*operands[0], *operands[1]);
  if (tensor.as<typed::Rearrange>() || tensor.as<typed::Reshape>() || tensor.as<typed::Slice>() ||
      tensor.as<typed::Gather>())
    return truthOf(*operands[0]);
  if (auto *einsum = tensor.as<typed::Einsum>(); einsum && einsum->spec.contracted().empty()) {
    // A product with ones repeats a tensor along a run-time size.
    std::vector<typed::Tensor *> inputs = operands;
    llvm::erase_if(inputs, [](typed::Tensor *input) { return isRuntimeSplat(*input); });
    return inputs.size() == 1 ? truthOf(*inputs[0]) : Truth::None;
  }
  return Truth::None;
}
} // namespace

bool Predicates::isConditionOnValues(const Value &value) {
  return value.is(ValueKind::Tensor) && truthOf(*value.tensor) == Truth::OfValues;
}

/// Returns a < b for two values, at least one of them a tensor.
Value Predicates::compare(const Node &node, StringRef op, Value left, Value right) {
  bool swaps = op == ">" || op == ">=";
  StringRef name = op == ">" ? "<" : op == ">=" ? "<=" : op;
  for (auto [value, operand] : {std::pair(&left, &node.operands[0]), std::pair(&right, &node.operands[1])})
    if (!typer.absent.refuseAbsent((*operand)->text, *value, "'" + op.str() + "' compares"))
      return {};
  if (swaps)
    std::swap(left, right);
  return typer.functions.applied(node, *attn::findElementFunction(state.context, name),
                                 {std::move(left), std::move(right)});
}

/// Returns P and Q, or P or Q, at least one of them a tensor.
Value Predicates::joinTruths(const Node &node, StringRef op, Value left, Value right) {
  for (auto [value, operand] : {std::pair(&left, &node.operands[0]), std::pair(&right, &node.operands[1])})
    if (!isConditionOnValues(*value) && !(value->is(ValueKind::Index) && subscript::isPredicate(value->index)) &&
        !(value->isWhole() && (value->integer == 0 || value->integer == 1))) {
      error((*operand)->text, "'" + op.str() + "' takes conditions, found " + describe(*value));
      if (value->is(ValueKind::Tensor))
        diagnostics.note("a tensor is compared first: x != 0");
      return {};
    }
  return typer.arithmetic.arithmetic(node, op == "and" ? "min" : "max", std::move(left), std::move(right));
}

/// Returns `yes` at the elements at which a condition on values holds, else `no`.
Value Predicates::chooseByValues(const Node &node, const Node &place, const Value &condition, Value yes, Value no) {
  if (!isConditionOnValues(condition)) {
    error(place.text, std::string(node.kind == NodeKind::Call ? "'select'" : "'if'") + " takes a condition, found " +
                          describe(condition));
    diagnostics.note("a tensor is compared first: x != 0");
    return {};
  }
  return typer.functions.applied(node, *attn::findElementFunction(state.context, attn::kChoice),
                                 {condition, std::move(yes), std::move(no)});
}

} // namespace skewer::language
