// Calls of functions of single numbers, including those of plugins: the arguments are brought to one shape, as operands
// of arithmetic are.
#include "dialect/Language/Typer.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {

Value Functions::typeApplied(const Node &node, const attn::ElementFunction &function) {
  size_t wanted = function.arguments().size();
  if (!typer.expressions.checkArguments(node, wanted, wanted, {}, attn::signatureOf(function)))
    return {};
  std::vector<Value> arguments;
  for (const NodePtr &operand : node.operands) {
    Value value = evaluate(*operand);
    if (!value.good())
      return {};
    if (!RealFunctions::isFunctionOfPositions(value) && !value.is(ValueKind::Tensor))
      return typer.names.notAnOperand(operand->text, node.name.str(), value);
    arguments.push_back(std::move(value));
  }
  return applied(node, function, std::move(arguments));
}

Value Functions::applied(const Node &node, const attn::ElementFunction &function, std::vector<Value> arguments) {
  Value joined; // has the final shape of all arguments
  bool tensors = false;
  Dimensions others; // of the tensors among the arguments: functions of positions take the sizes of their axes
  for (const Value &value : arguments)
    others.insert(others.end(), value.dimensions.begin(), value.dimensions.end());
  for (Value &value : arguments) {
    value = typer.absent.written(node, typer.arithmetic.widen(node, typer.arithmetic.toTensor(node, value, &others)));
    if (!value.good())
      return {};
    if (value.is(ValueKind::Tensor)) {
      if (tensors && joined.present.empty() != value.present.empty())
        return typer.absent.refuseMixture(node, function.name(), joined.present.empty() ? value : joined), Value();
      Value copy = value;
      if (tensors && (!typer.arithmetic.align(node, joined, copy) ||
                      !typer.absent.joinConditions(node, function.name(), joined, copy)))
        return {};
      joined = tensors ? joined : value;
      tensors = true;
    }
  }
  if (!tensors) {
    SmallVector<double> numbers;
    for (const Value &argument : arguments)
      numbers.push_back(argument.number);
    double result = function.evaluate(numbers);
    return std::isfinite(result) ? Value::real(result) : error(node.text, "the result is not a finite number");
  }
  std::vector<typed::Tensor *> inputs;
  for (Value &argument : arguments) {
    if (argument.is(ValueKind::Number)) {
      inputs.push_back(typer.arithmetic.splat(node, argument.number, joined.dimensions));
      continue;
    }
    Value shape = joined; // it already has the final shape, so only the argument changes
    if (!typer.arithmetic.align(node, argument, shape))
      return {};
    inputs.push_back(argument.tensor);
  }
  joined.tensor = append(node, typed::Apply{function.name().str()}, inputs, joined.dimensions);
  return joined;
}

} // namespace skewer::language
