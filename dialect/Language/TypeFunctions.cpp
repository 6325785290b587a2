// Functions of numbers, positions and tensors: exp, sigmoid, abs, clamp, len, ….
#include "dialect/Language/Typer.h"
#include "dialect/Subscript/Arithmetic.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

namespace {
/// The functions of one argument, on numbers. Each exists for positions (realFunction) and tensors
/// (elementwiseFunction) too.
using Function = double (*)(double);
const std::map<StringRef, Function> &functionsOfOne() {
  static const std::map<StringRef, Function> functions = {
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"relu", [](double x) { return std::fmax(x, 0); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
  };
  return functions;
}
} // namespace

std::vector<StringRef> functionsOfOneArgument() {
  std::vector<StringRef> names;
  for (const auto &[name, function] : functionsOfOne())
    names.push_back(name);
  return names;
}

StringRef Functions::elementwiseName(RealKind kind) {
  for (const auto &entry : functionsOfOne())
    if (realFunction(entry.first) == kind)
      return entry.first;
  return {};
}

bool Functions::isFunction(StringRef name) const {
  return functionsOfOne().count(name) || name == "min" || name == "max" || name == "clamp" || name == "select" ||
         name == "len" || name == "f32" || name == "f64";
}

/// Evaluates len(axis).
Value Functions::typeLength(const Node &node) {
  const Node &axis = *node.operands[0];
  const Axis *found = axis.kind == NodeKind::Name ? typer.sizes.axisOfBody(axis.name.str()) : nullptr;
  if (!found && axis.kind == NodeKind::Name && scope->unknown.count(axis.name.str()))
    return {};
  if (!found)
    return error(axis.text, "'len' takes the name of an axis that an operand or an einsum before has named" +
                                suggestion(axis.name, typer.names.visibleNames()));
  if (!found->runtime.empty())
    return error(axis.text, "the length of axis '" + found->name + "' is the run-time size '" + found->runtime + "'");
  if (!typer.sizes.relyOnSize(axis.text, found->name))
    return {};
  const Part *part = typer.positions.partOf(found->name);
  Value length = Value::whole(part && found->size == part->extent ? part->length : found->size);
  if (!state.lengths.empty())
    length.function = makeReal(length.number, true, &node);
  return length;
}

/// Returns the k-th of several numbers, which min, max or clamp has chosen. For whole numbers, the decision is the
/// value, not which of two equal numbers it is. For other numbers, the same one must be chosen at every length.
Value Functions::chosen(const Node &node, ArrayRef<Value> arguments, size_t k) {
  bool isMinimum = node.name == "min", isClamp = node.name == "clamp";
  Value inner = arguments[0].number < arguments[1].number == isMinimum ? arguments[0] : arguments[1];
  inner.function = typer.reals.madeBy(node, isMinimum ? RealKind::Minimum : RealKind::Maximum, arguments.take_front(2));
  if (llvm::all_of(arguments, [](const Value &argument) { return argument.isWhole(); })) {
    Value value = arguments[k];
    value.function = isClamp ? typer.reals.madeBy(node, RealKind::Minimum, {inner, arguments[2]}) : inner.function;
    return typer.decisions.decided(node, value);
  }
  typer.decisions.decided(node, Value::whole(static_cast<int64_t>(k)));
  auto isNotAbove = [&](const Value &a, const Value &b) {
    typer.decisions.decided(node, true, typer.reals.madeBy(node, RealKind::LessEqual, {a, b}));
  };
  if (isClamp && k == 2) {
    isNotAbove(arguments[2], inner);
    return arguments[2];
  }
  isMinimum ? isNotAbove(arguments[k], arguments[1 - k]) : isNotAbove(arguments[1 - k], arguments[k]);
  if (isClamp)
    isNotAbove(arguments[k], arguments[2]);
  return arguments[k];
}

/// Evaluates a function of numbers.
Value Functions::functionOfNumbers(const Node &node, ArrayRef<Value> arguments) {
  StringRef name = node.name;
  const Value &first = arguments[0];
  if (name == "f64")
    return first;
  if (name == "f32") {
    float rounded = static_cast<float>(first.number);
    return first.isWhole() && rounded == first.number
               ? first
               : typer.reals.made(node, RealKind::Single, first, Value::real(rounded));
  }
  if (name == "abs" && first.isWhole() && first.integer != INT64_MIN)
    return typer.decisions.decided(node,
                                   typer.reals.made(node, RealKind::Abs, first, Value::whole(std::abs(first.integer))));
  if (name == "floor" || name == "ceil" || name == "round") {
    double rounded = functionsOfOne().at(name)(first.number);
    if (std::fabs(rounded) < 9e18)
      return typer.decisions.decided(
          node, typer.reals.made(node, *realFunction(name.str()), first, Value::whole(static_cast<int64_t>(rounded))));
  }
  auto less = [&](size_t a, size_t b) {
    const Value &x = arguments[a], &y = arguments[b];
    return x.isWhole() && y.isWhole() ? x.integer < y.integer : x.number < y.number;
  };
  if (name == "min" || name == "max")
    return chosen(node, arguments, less(0, 1) == (name == "min") ? 0 : 1);
  if (name == "clamp") // the upper end comes last, as for positions and tensors
    return chosen(node, arguments, less(2, 0) || less(2, 1) ? 2 : less(0, 1) ? 1 : 0);
  double result = functionsOfOne().at(name)(first.number);
  if (std::isfinite(result))
    if (auto kind = realFunction(name.str()))
      return typer.reals.made(node, *kind, first, Value::real(result));
  return std::isfinite(result) || state.untaken ? Value::real(result)
                                                : error(node.text, "the result is not a finite number");
}

/// Evaluates abs, min, max or clamp of index expressions.
Value Functions::functionOfIndices(const Node &node, ArrayRef<Value> arguments) {
  Value value;
  value.kind = ValueKind::Index;
  std::vector<Expr> e;
  for (const Value &argument : arguments) {
    e.push_back(argument.is(ValueKind::Index) ? argument.index : Expr(argument.integer));
    value.axes.insert(argument.axes.begin(), argument.axes.end());
  }
  value.index = node.name == "abs"   ? abs(e[0])
                : node.name == "min" ? min(e[0], e[1])
                : node.name == "max" ? max(e[0], e[1])
                                     : clamp(e[0], e[1], e[2]);
  return typer.positions.whereItFits(node, std::move(value));
}

/// Evaluates a function of positions that is not an index expression; it is computed at compile time.
Value Functions::functionOfPositions(const Node &node, ArrayRef<Value> arguments) {
  StringRef name = node.name;
  if ((name == "floor" || name == "ceil" || name == "round") && arguments[0].is(ValueKind::Index))
    return arguments[0];
  if (name == "clamp")
    return typer.reals.realValue(
        node, RealKind::Minimum,
        {typer.reals.realValue(node, RealKind::Maximum, {arguments[0], arguments[1]}), arguments[2]});
  return typer.reals.realValue(node, *realFunction(name), arguments);
}

/// Evaluates a function of tensors; some arguments may be numbers.
Value Functions::functionOfTensors(const Node &node, ArrayRef<Value> arguments) {
  StringRef name = node.name;
  if (name != "clamp" && name != "min" && name != "max")
    return elementwiseFunction(node, name, typer.arithmetic.toTensor(node, arguments[0]));
  if (name != "clamp")
    typer.reductions.warnOfExtremum(node, arguments[0], arguments[1]);
  Value low = name == "min" ? arguments[0] : typer.arithmetic.arithmetic(node, "max", arguments[0], arguments[1]);
  if (!low.good() || name == "max")
    return low;
  return typer.arithmetic.arithmetic(node, "min", low, arguments[name == "clamp" ? 2 : 1]);
}

Value Functions::typeFunction(const Node &node) {
  StringRef name = node.name;
  if ((name == "min" || name == "max") &&
      (typer.expressions.keyword(node, "axis") || typer.expressions.keyword(node, "dim") || node.operands.size() == 1))
    return typer.reductions.typeExtremum(node);
  size_t wanted = name == "clamp" || name == "select" ? 3 : name == "min" || name == "max" ? 2 : 1;
  std::string usage = name == "clamp"    ? "clamp(value, low, high)"
                      : name == "select" ? "select(condition, if_true, if_false)"
                      : name == "len"    ? "len(axis)"
                      : wanted == 2      ? name.str() + "(a, b), or " + name.str() + "(x, axis = j) along an axis"
                                         : name.str() + "(x)";
  if (!typer.expressions.checkArguments(node, wanted, wanted, {}, usage))
    return {};
  if (name == "select")
    return typer.choices.typeConditional(node, *node.operands[0], *node.operands[1], *node.operands[2]);
  if (name == "len")
    return typeLength(node);
  std::vector<Value> arguments;
  bool numbers = true, indices = true, positions = true;
  for (const NodePtr &operand : node.operands) {
    arguments.push_back(evaluate(*operand));
    const Value &value = arguments.back();
    if (!value.good())
      return {};
    if (!RealFunctions::isFunctionOfPositions(value) && !value.is(ValueKind::Tensor))
      return typer.names.notAnOperand(operand->text, name.str(), value);
    numbers &= value.is(ValueKind::Number);
    positions &= RealFunctions::isFunctionOfPositions(value);
    indices &= value.is(ValueKind::Index) || value.isPosition();
  }
  if (name == "f32" && !positions) // arithmetic on tensors is in f32, whatever their storage type
    return typer.arithmetic.widen(node, std::move(arguments[0]));
  if (name == "f64" && !positions) {
    error(node.operands[0]->text, "'f64' takes a function of positions, which is computed at compile time, found " +
                                      describe(arguments[0]));
    diagnostics.note("arithmetic on tensors is in f32: leave 'f64' out");
    return {};
  }
  if (numbers)
    return functionOfNumbers(node, arguments);
  if (indices && (wanted > 1 || name == "abs"))
    return functionOfIndices(node, arguments);
  return positions ? functionOfPositions(node, arguments) : functionOfTensors(node, arguments);
}

Value Functions::elementwiseFunction(const Node &node, StringRef name, Value tensor) {
  Value value = typer.arithmetic.widen(node, std::move(tensor));
  using typed::Function;
  auto compute = [&](Function function, ArrayRef<typed::Tensor *> operands) {
    return typer.arithmetic.elementwise(node, function, operands, value.dimensions);
  };
  if (name == "exp" && !value.finite.empty()) { // exp(-inf) is 0, as for hidden elements
    value.tensor = compute(Function::Exp, value.tensor);
    return typer.absent.shown(node, value);
  }
  value = typer.absent.written(node, std::move(value));
  if (!value.good())
    return {};
  if (name == "relu") {
    value.tensor = compute(Function::Maximum, {value.tensor, typer.arithmetic.splat(node, 0, value.dimensions)});
  } else if (name == "sigmoid") { // 1 / (1 + exp(-x))
    typed::Tensor *one = typer.arithmetic.splat(node, 1, value.dimensions);
    typed::Tensor *power = compute(Function::Exp, compute(Function::Negate, value.tensor));
    value.tensor = compute(Function::Divide, {one, compute(Function::Add, {power, one})});
  } else if (auto function = typed::functionNamed(name)) {
    value.tensor = compute(*function, value.tensor);
  } else {
    return error(node.text, "'" + name.str() + "' is of numbers and positions, found a tensor");
  }
  return value;
}

} // namespace skewer::language
