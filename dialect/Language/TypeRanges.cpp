// The ranges that index operands declare: highest(ids), lowest(ids), and whether lengths influence them.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {

/// Returns the declared type of a kernel's index operand; null if the value is not one.
static const TypeExpression *typeOfOperand(const Kernel *kernel, const Value &value) {
  if (!kernel || !value.is(ValueKind::Indices))
    return nullptr;
  auto operand = find_if(kernel->operands, [&](const KernelOperand &own) { return own.name == value.name; });
  return operand == kernel->operands.end() ? nullptr : operand->type.get();
}

/// Returns the end of a range with all lengths at their bounds, so that it is the same number for all calls.
std::optional<int64_t> Positions::endOfRange(const Node &end) {
  std::map<std::string, Value> values = state.globals.values;
  for (const auto &[name, bound] : state.lengths)
    state.globals.values[name] = Value::whole(bound);
  Scope *outer = std::exchange(scope, &state.globals);
  auto number = typer.expressions.evaluateWhole(end, "the end of a range");
  scope = outer;
  state.globals.values = std::move(values);
  return number;
}

/// Returns whether the values of the expression lie in the same range at all lengths: it must consist of elements
/// of index operands whose ranges are the same at all lengths.
bool Positions::isAlikeAtAllLengths(const subscript::Expr &e) {
  if (state.lengths.empty())
    return true;
  if (e.kind() == subscript::Kind::Read) {
    auto operand =
        find_if(state.kernelAtHand->operands, [&](const KernelOperand &own) { return own.name == e.name(); });
    if (operand == state.kernelAtHand->operands.end() || !operand->type->low)
      return false;
    Scope *outer = std::exchange(scope, &state.globals);
    Value low = evaluate(*operand->type->low), high = evaluate(*operand->type->high);
    scope = outer;
    return !low.function && !high.function;
  }
  return !e.isSymbol() && all_of(e.operands(), [&](const subscript::Expr &own) { return isAlikeAtAllLengths(own); });
}

Value Positions::typeEndOfRange(const Node &node) {
  std::string function = node.name.str();
  if (!typer.expressions.checkArguments(node, 1, 1, {}, function + "(ids)"))
    return {};
  const Node &argument = *node.operands[0];
  const Value *named = argument.kind == NodeKind::Name ? typer.names.lookup(argument.name.str()) : nullptr;
  Value operand = named ? *named : evaluate(argument);
  if (!operand.good())
    return {};
  const TypeExpression *type = typeOfOperand(state.kernelAtHand, operand);
  if (!type)
    return error(argument.text, "'" + function + "' takes an index operand, which is an operand of i32, found " +
                                    describe(operand));
  if (!type->low) {
    error(argument.text, "nothing says the " + function + " value of '" + operand.name + "', which has no range");
    diagnostics.note(type->text, "declare it here: " + type->text.str() + " in low..high");
    return {};
  }
  auto end = endOfRange(function == "highest" ? *type->high : *type->low);
  return end ? Value::whole(*end) : Value();
}

} // namespace skewer::language
