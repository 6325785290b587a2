// Numbers beside tensors: constants, or, where the number depends on a run-time length, arithmetic when the kernel runs.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {

/// How a number is made of whole numbers, which lengths are. A whole number is one of those, and knows what itself is
/// made of.
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

/// How a whole number, or what is decided, is made of lengths; null where none of the operands is.
RealPtr Typer::madeBy(const Node &node, RealKind kind, ArrayRef<Value> operands) const {
  constexpr size_t kMostDepth = 400;
  if (lengths.empty() || none_of(operands, [](const Value &operand) { return operand.function != nullptr; }))
    return nullptr;
  std::vector<RealPtr> functions;
  for (const Value &operand : operands)
    functions.push_back(operand.function ? operand.function
                                         : makeReal(operand.number, operand.isPosition(), &node));
  RealPtr function = makeReal(kind, std::move(functions), &node);
  return function->depth <= kMostDepth ? function : makeReal(NAN, false, &node); // what nobody can tell
}

/// The number remembers what it is made of, in a text that has lengths.
Value Typer::made(const Node &node, RealKind kind, ArrayRef<Value> operands, Value number) {
  if (lengths.empty() || !number.is(ValueKind::Number))
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

/// A number that meets a tensor of these dimensions. Which of them depend on a length is found by who reads the text at
/// several lengths (Decision::Factor); it is told by `Options::atRunTime`.
typed::Tensor *Typer::beside(const Node &node, const Value &number, const Dimensions &dimensions) {
  constexpr size_t kMostOperations = 64;
  size_t place = computing ? 0 : factors++;
  RealPtr how = madeOf(number, node);
  if (options.decisions && !computing) {
    Decision decision;
    decision.kind = Decision::Factor, decision.place = node.text, decision.values = {number.number};
    decision.made = number.function;
    collectWholes(*how, decision.wholes);
    options.decisions->push_back(std::move(decision)); // each of them, so that they are counted alike
  }
  if (!(computing || options.atRunTime.count(place)) || !std::isfinite(number.number))
    return splat(node, number.number, dimensions);
  bool outer = std::exchange(spelling, computing ? spelling : options.spelledOut.count(place) != 0);
  Value one = how->size <= kMostOperations ? atRunTime(node, *how) : Value(), large;
  spelling = outer;
  large.dimensions = dimensions;
  if (one.good() && alignByPosition(node, one, large))
    return one.tensor;
  if (!diagnostics.hasErrors()) {
    error(node.text, "a layer of run-time length: this number depends on the length, and no kernel computes it");
    diagnostics.note("kernels compute + - * / ^ and functions of one argument of a length; what is chosen, rounded or divided "
                     "without a rest is the same at every length, or the length is given at compile time (-D)");
  }
  return splat(node, number.number, dimensions);
}

/// The number as a tensor of one element: whole numbers as positions are, so that they are compared between lengths,
/// and what is made of them by operations.
Value Typer::atRunTime(const Node &node, const RealFunction &f) {
  if (f.kind == RealKind::Number && f.whole && f.made && spelling && f.made->kind != RealKind::Number)
    return atRunTime(node, *f.made);
  if (f.kind == RealKind::Number && f.whole) {
    Axis axis{"u", 1, ""};
    Value whole = positionTensor(node, subscript::Expr(static_cast<int64_t>(f.number)), {{1, "", {{axis}}}});
    whole.dimensions = {{1}};
    whole.order = {};
    return whole;
  }
  if (f.kind == RealKind::Number)
    return tensorValue(splat(node, f.number, {{1}}), {{1}});
  std::vector<Value> operands;
  for (const RealPtr &operand : f.operands) {
    operands.push_back(atRunTime(node, *operand));
    if (!operands.back().good())
      return {};
  }
  typed::Tensor *a = operands[0].tensor, *b = operands.back().tensor;
  for (StringRef op : {"+", "-", "*", "/", "^"})
    if (realOperator(op) == f.kind)
      return tensorValue(elementwise(node, *typed::functionNamed(op), {a, b}, {{1}}), {{1}});
  if (f.kind == RealKind::Negate)
    return tensorValue(elementwise(node, typed::Function::Negate, a, {{1}}), {{1}});
  if (f.kind == RealKind::Single)
    return operands[0];
  if (StringRef name = elementwiseName(f.kind); !name.empty())
    return elementwiseFunction(node, name, operands[0]);
  return {};
}

/// Whether the function is made of what tensors are computed with.
static bool isOfTensors(const RealFunction &f) {
  switch (f.kind) {
  case RealKind::Double: // computed at compile time
  case RealKind::FloorDivide:
  case RealKind::Modulo:
  case RealKind::Select:
  case RealKind::Less:
  case RealKind::LessEqual:
  case RealKind::Equal:
  case RealKind::NotEqual:
  case RealKind::And:
  case RealKind::Or:
  case RealKind::Not:
    return false;
  default:
    return all_of(f.operands, [](const RealPtr &operand) { return isOfTensors(*operand); });
  }
}

/// The numbers of a function of one offset, over its range, where they depend on a length; null for others. Positions
/// along a table are whole numbers as lengths are, which are compared.
typed::Tensor *Typer::tableAtRunTime(const Node &node, const RealForms &forms) {
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
  Value table = toTensor(node, typeReal(node, *over.function, over));
  computing = false;
  return table.good() ? table.tensor : nullptr;
}

} // namespace skewer::language
