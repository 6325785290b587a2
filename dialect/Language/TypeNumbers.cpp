// Numbers beside tensors: constants, or, if the number depends on a run-time length, arithmetic that the kernel
// computes at run time.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {

/// Returns how a number is computed from whole numbers, since lengths are whole numbers. A whole number is a
/// leaf, and remembers what it is computed from.
RealPtr numberLeaf(const Value &number, const Node &node) {
  RealPtr leaf = makeReal(number.number, number.isPosition(), &node);
  if (!number.function)
    return leaf;
  RealFunction own = *leaf;
  own.made = number.function;
  return std::make_shared<const RealFunction>(std::move(own));
}
static RealPtr madeOf(const Value &number, const Node &node) {
  return number.function && !number.isInteger ? number.function : numberLeaf(number, node);
}

/// Returns how a whole number, or a decision, is computed from lengths; null if no operand depends on one.
RealPtr RealFunctions::madeBy(const Node &node, RealKind kind, ArrayRef<Value> operands) const {
  constexpr size_t kMostDepth = 400;
  if (state.lengths.empty() || none_of(operands, [](const Value &operand) { return operand.function != nullptr; }))
    return nullptr;
  std::vector<RealPtr> functions;
  for (const Value &operand : operands)
    functions.push_back(operand.function ? operand.function
                                         : makeReal(operand.number, operand.isPosition(), &node));
  RealPtr function = makeReal(kind, std::move(functions), &node);
  return function->depth <= kMostDepth ? function : makeReal(NAN, false, &node); // unknown: the chain is too long
}

/// Makes the number remember what it is computed from, if the text has lengths.
Value RealFunctions::made(const Node &node, RealKind kind, ArrayRef<Value> operands, Value number) {
  if (state.lengths.empty() || !number.is(ValueKind::Number))
    return number;
  if (number.isInteger) {
    number.function = madeBy(node, kind, operands);
    return number;
  }
  std::vector<RealPtr> functions;
  for (const Value &operand : operands)
    functions.push_back(madeOf(operand, node));
  number.function = makeReal(kind, std::move(functions), &node);
  return number;
}

/// Returns a tensor for a number that meets a tensor of these dimensions. The driver reads the text at several
/// lengths to find the numbers that depend on a length (Decision::Factor), and lists them in
/// `Options::atRunTime`.
typed::Tensor *RealFunctions::beside(const Node &node, const Value &number, const Dimensions &dimensions) {
  constexpr size_t kMostOperations = 64;
  size_t place = computing ? 0 : factors++;
  RealPtr how = madeOf(number, node);
  if (options.decisions && !computing) {
    Decision decision;
    decision.kind = Decision::Factor, decision.place = node.text, decision.values = {number.number};
    decision.made = number.function;
    collectWholes(*how, decision.wholes);
    options.decisions->push_back(std::move(decision)); // every number, so that all runs count them alike
  }
  if (!(computing || options.atRunTime.count(place)) || !std::isfinite(number.number))
    return typer.arithmetic.splat(node, number.number, dimensions);
  bool outer = std::exchange(spelling, computing ? spelling : options.spelledOut.count(place) != 0);
  Value one = how->size <= kMostOperations ? atRunTime(node, *how) : Value(), large;
  spelling = outer;
  large.dimensions = dimensions;
  if (one.good() && typer.arithmetic.alignByPosition(node, one, large))
    return one.tensor;
  if (!diagnostics.hasErrors()) {
    error(node.text, "a layer of run-time length: this number depends on the length, and no kernel computes it");
    diagnostics.note("a kernel computes + - * / ^ and functions of one argument of a length; a choice, a rounding or a "
                     "division without a rest must be the same at every length; else give the length at compile time "
                     "(-D)");
  }
  return typer.arithmetic.splat(node, number.number, dimensions);
}

/// Returns the number as a tensor of one element. Its whole numbers become positions, so that they are compared between
/// lengths; operations compute the number from them.
Value RealFunctions::atRunTime(const Node &node, const RealFunction &f) {
  if (f.kind == RealKind::Number && f.whole && f.made && spelling && f.made->kind != RealKind::Number)
    return atRunTime(node, *f.made);
  if (f.kind == RealKind::Number && f.whole) {
    Axis axis{"u", 1, ""};
    Value whole =
        typer.arithmetic.positionTensor(node, subscript::Expr(static_cast<int64_t>(f.number)), {{1, "", {{axis}}}});
    whole.dimensions = {{1}};
    whole.order = {};
    return whole;
  }
  if (f.kind == RealKind::Number)
    return tensorValue(typer.arithmetic.splat(node, f.number, {{1}}), {{1}});
  std::vector<Value> operands;
  for (const RealPtr &operand : f.operands) {
    operands.push_back(atRunTime(node, *operand));
    if (!operands.back().good())
      return {};
  }
  typed::Tensor *a = operands[0].tensor, *b = operands.back().tensor;
  for (StringRef op : {"+", "-", "*", "/", "^"})
    if (realOperator(op) == f.kind)
      return tensorValue(typer.arithmetic.elementwise(node, *typed::functionNamed(op), {a, b}, {{1}}), {{1}});
  if (f.kind == RealKind::Negate)
    return tensorValue(typer.arithmetic.elementwise(node, typed::Function::Negate, a, {{1}}), {{1}});
  if (f.kind == RealKind::Single)
    return operands[0];
  if (StringRef name = Functions::elementwiseName(f.kind); !name.empty())
    return typer.functions.elementwiseFunction(node, name, operands[0]);
  return {};
}

/// Returns the values of a function of one offset over its range, computed at run time; null for other functions.
/// Positions along the table are whole numbers, like lengths, and are compared between lengths.
typed::Tensor *RealFunctions::tableAtRunTime(const Node &node, const RealForms &forms) {
  if (forms.forms.size() != 1 || !isOfTensors(*forms.function))
    return {};
  Axis axis{forms.symbols[0], forms.ranges[0].high - forms.ranges[0].low + 1, ""};
  Value over;
  over.kind = ValueKind::Real;
  over.axes.insert({axis.name, axis});
  const subscript::Substitution fromZero = {
      {axis.name, subscript::Expr::symbol(axis.name) + subscript::Expr(forms.ranges[0].low)}};
  over.function =
      withIndices(forms.function, [&](const subscript::Expr &e) { return std::optional(substitute(e, fromZero)); });
  computing = true;
  Value table = typer.arithmetic.toTensor(node, typeReal(node, *over.function, over));
  computing = false;
  return table.good() ? table.tensor : nullptr;
}

/// Adds a note if a large finite number is added at some positions only: other languages hide keys like this.
void RealFunctions::noteFiniteMask(const Node &node, StringRef op, const Value &operand, const Node &place) {
  constexpr double kLarge = 1e4;
  double sign = op == "-" ? -1 : 1;
  auto large = [&](double number) { return std::isfinite(number) && sign * number <= -kLarge; };
  bool found = false;
  if (operand.is(ValueKind::Real)) {
    const RealFunction &f = *operand.function;
    auto number = [&](size_t k) {
      return f.operands[k]->kind == RealKind::Number ? std::optional(f.operands[k]->number) : std::nullopt;
    };
    if (f.kind == RealKind::Select && number(1) && number(2))
      found = (large(*number(1)) && *number(2) == 0) || (large(*number(2)) && *number(1) == 0);
    if (f.kind == RealKind::Multiply)
      found = (number(0) && large(*number(0)) && f.operands[1]->whole) ||
              (number(1) && large(*number(1)) && f.operands[0]->whole);
  } else if (operand.is(ValueKind::Index)) {
    const subscript::Expr &e = operand.index;
    auto number = [&](size_t k) {
      return e.operands()[k].isConstant() ? std::optional(static_cast<double>(e.operands()[k].value())) : std::nullopt;
    };
    if (e.kind() == subscript::Kind::Select && number(1) && number(2))
      found = (large(*number(1)) && *number(2) == 0) || (large(*number(2)) && *number(1) == 0);
    if (e.kind() == subscript::Kind::Mul)
      found = (number(0) && large(*number(0))) || (number(1) && large(*number(1)));
  }
  if (found)
    diagnostics.note(place.text,
                     "this is added as it is written; to hide keys, 'where' around the whole, or -inf, leaves them "
                     "out and costs no time");
}

} // namespace skewer::language
