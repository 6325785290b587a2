// `a if P else b`, select(P, a, b), and einsum("…", …, where = P): values that depend on a condition on positions.
#include "dialect/Language/Typer.h"
#include "dialect/Language/Joins.h"
#include "dialect/Subscript/Simplifier.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

static StringRef takerOf(const Node &node) { return node.kind == NodeKind::Call ? "'select'" : "'if'"; }

/// Returns whether the expression is made of numbers alone, as far as its words show.
bool Choices::isOfNumbers(const Node &node) {
  auto all = [&] { return llvm::all_of(node.operands, [&](const NodePtr &operand) { return isOfNumbers(*operand); }); };
  switch (node.kind) {
  case NodeKind::Number:
    return true;
  case NodeKind::Name: {
    const Value *value = typer.names.lookup(node.name.str());
    return value && value->is(ValueKind::Number) && !findAxis(node.name.str());
  }
  case NodeKind::Unary:
  case NodeKind::Binary:
  case NodeKind::Conditional:
    return all();
  case NodeKind::Call:
    return node.keywords.empty() && typer.functions.isFunction(node.name) && (node.name == "len" || all());
  default:
    return false;
  }
}

Value Choices::typeConditional(const Node &node, const Node &condition, const Node &yesNode, const Node &noNode) {
  // If all values are numbers, only the chosen one must exist.
  std::optional<bool> isYes;
  if (isOfNumbers(condition) && isOfNumbers(yesNode) && isOfNumbers(noNode)) {
    Value evaluated = evaluate(condition);
    if (!evaluated.good())
      return {};
    isYes = evaluated.number != 0;
  }
  auto valueOf = [&](const Node &operand, bool isTaken) {
    state.untaken += !isTaken;
    Value value = evaluate(operand);
    state.untaken -= !isTaken;
    return value;
  };
  Value yes = valueOf(yesNode, isYes.value_or(true)), no = valueOf(noNode, !isYes.value_or(false));
  if (!yes.good() || !no.good())
    return {};
  std::string taker = takerOf(node).str();
  for (auto [value, place] : {std::pair(&yes, &yesNode), std::pair(&no, &noNode)})
    if (!RealFunctions::isFunctionOfPositions(*value) && !value->is(ValueKind::Tensor))
      return typer.names.notAnOperand(place->text, taker.substr(1, taker.size() - 2), *value);
  if (!yes.is(ValueKind::Tensor) && !no.is(ValueKind::Tensor)) {
    Value evaluated = evaluate(condition);
    if (!evaluated.good())
      return {};
    if (evaluated.is(ValueKind::Tensor))
      return typer.predicates.chooseByValues(node, condition, evaluated, yes, no);
    if (!RealFunctions::isFunctionOfPositions(evaluated))
      return error(condition.text,
                   taker + " takes a condition on positions, such as j <= i, found " + describe(evaluated));
    return selectPositions(node, evaluated, yes, no);
  }
  for (auto [value, other, place] : {std::tuple(&yes, &no, &yesNode), std::tuple(&no, &yes, &noNode)}) {
    *value = typer.arithmetic.widen(*place, typer.arithmetic.toTensor(*place, *value, &other->dimensions));
    if (!value->good() || !typer.absent.refuseAbsent(place->text, *value, taker + " reads"))
      return {};
  }
  if (yes.is(ValueKind::Tensor) && no.is(ValueKind::Tensor)) {
    if (!typer.arithmetic.align(node, yes, no))
      return {};
  }
  const Value &frame = yes.is(ValueKind::Tensor) ? yes : no;
  Value value = typer.predicates.evaluateAmong(condition, frame);
  if (value.is(ValueKind::Tensor))
    return typer.predicates.chooseByValues(node, condition, value, std::move(yes), std::move(no));
  auto evaluated = typer.predicates.asPredicate(condition, std::move(value), frame, taker);
  if (!evaluated)
    return {};
  // An axis that is summed over is not in the result. A condition on it belongs to the sum; here it would add an axis
  // to the result.
  if (auto *einsum = yes.is(ValueKind::Tensor) ? yes.tensor->as<typed::Einsum>() : nullptr;
      einsum && yesNode.kind == NodeKind::Call && yesNode.name == "einsum") {
    std::set<std::string> left = subscript::symbolsOf(evaluated->index);
    for (const auto &[axis, position] : renaming(frame.dimensions, placeNamings(frame.dimensions)))
      left.erase(axis);
    for (const std::string &axis : einsum->spec.contracted())
      if (left.count(axis)) {
        error(condition.text, "axis '" + axis + "' is summed over in the einsum before 'if'");
        diagnostics.note("to sum over some elements alone: einsum(…, where = " + condition.text.str() + ")");
        return {};
      }
  }
  return choose(node, condition, *evaluated, std::move(yes), std::move(no));
}

/// Returns the number or function over the axes of all of these values: a number's decision does not change the axes.
static Value overAxesOf(Value value, ArrayRef<const Value *> all) {
  std::map<std::string, Axis> axes;
  for (const Value *one : all)
    axes.insert(one->axes.begin(), one->axes.end());
  if (axes.empty() || !value.is(ValueKind::Number)) {
    value.axes = std::move(axes);
    return value;
  }
  bool isPosition = value.isPosition();
  value.function = isPosition ? nullptr : makeReal(value.number, false, nullptr);
  value.kind = isPosition ? ValueKind::Index : ValueKind::Real;
  value.index = isPosition ? Expr(value.integer) : Expr();
  value.axes = std::move(axes);
  return value;
}

/// Returns a selection among functions of positions, which is itself such a function.
Value Choices::selectPositions(const Node &node, const Value &condition, const Value &yes, const Value &no) {
  if (condition.is(ValueKind::Number))
    return overAxesOf(typer.decisions.decided(node, condition.number != 0, condition.function) ? yes : no, {&yes, &no});
  auto isIndex = [](const Value &value) { return value.is(ValueKind::Index) || value.isPosition(); };
  if (!isIndex(condition) || !isIndex(yes) || !isIndex(no))
    return typer.reals.realValue(node, RealKind::Select, {condition, yes, no});
  auto expression = [](const Value &value) { return value.is(ValueKind::Index) ? value.index : Expr(value.integer); };
  Value value;
  value.kind = ValueKind::Index;
  value.index = subscript::select(condition.index, expression(yes), expression(no));
  for (const Value *part : {&condition, &yes, &no})
    value.axes.insert(part->axes.begin(), part->axes.end());
  return typer.positions.whereItFits(node, std::move(value));
}

/// Returns a selection between values that `typeReal` computed from the parts of a function; `axes` has the axes of the
/// whole function.
Value Choices::selectTensors(const Node &node, const Expr &condition, const Value &axes, Value yes, Value no) {
  yes = typer.arithmetic.toTensor(node, yes), no = typer.arithmetic.toTensor(node, no);
  if (!yes.good() || !no.good())
    return {};
  Value predicate;
  predicate.kind = ValueKind::Index;
  predicate.index = condition;
  for (const std::string &symbol : subscript::symbolsOf(condition))
    if (auto axis = axes.axes.find(symbol); axis != axes.axes.end())
      predicate.axes.insert(*axis);
  if (yes.is(ValueKind::Number) && no.is(ValueKind::Number)) { // over the axes of the condition
    Dimensions dimensions = inOrder(predicate.axes);
    yes = tensorValue(typer.arithmetic.splat(node, yes.number, dimensions), dimensions);
    yes.order.isWritten = false;
  } else if (yes.is(ValueKind::Tensor) && no.is(ValueKind::Tensor) && !typer.arithmetic.align(node, yes, no)) {
    return {};
  }
  return choose(node, node, predicate, std::move(yes), std::move(no));
}

/// Returns the axes as dimensions, in the order of the scope.
Dimensions Choices::inOrder(std::map<std::string, Axis> axes) const {
  Dimensions dimensions;
  for (const Axis &axis : scope->axes)
    if (auto found = axes.find(axis.name); found != axes.end()) {
      dimensions.push_back({found->second.size, found->second.runtime, {{found->second}}});
      axes.erase(found);
    }
  for (const auto &[name, axis] : axes)
    dimensions.push_back({axis.size, axis.runtime, {{axis}}});
  return dimensions;
}

/// Repeats the tensor along the given axes that it lacks. The result has the shape of the sum of the tensor and a
/// function of the axes.
bool Choices::extend(const Node &node, const Node &condition, Value &value, const std::map<std::string, Axis> &axes) {
  std::map<std::string, Axis> missing;
  subscript::Substitution known = renaming(value.dimensions, placeNamings(value.dimensions));
  for (const auto &entry : axes)
    if (!known.count(entry.first))
      missing.insert(entry);
  if (missing.empty())
    return true;
  if (!isNamed(value.dimensions)) {
    error(condition.text, "the condition has an axis '" + missing.begin()->first +
                              "' that the tensor lacks, and it cannot be put among dimensions without a name: " +
                              describeAxes(value.dimensions));
    diagnostics.note("name the dimensions, broadcast(x, \"… -> …\", …), or make the condition one of these axes");
    return false;
  }
  Joined joined = join({value.dimensions, value.order}, {inOrder(missing), Order{false}});
  if (joined.complaint)
    return error(condition.text, joined.complaint->message), false;
  Value target;
  target.dimensions = std::move(joined.shape.dimensions);
  if (!typer.arithmetic.alignByName(node, value, target))
    return false;
  value.order = std::move(joined.shape.order);
  return true;
}

/// Returns `yes` where the condition holds, else `no`: tensors of one shape, or a tensor and a number. An einsum's
/// guard produces zeros. The value that is not chosen may be anything, NaN included.
Value Choices::choose(const Node &node, const Node &condition, const Value &predicate, Value yes, Value no) {
  for (Value *value : {&yes, &no})
    if (value->is(ValueKind::Tensor) && (!typer.sizes.relyOnSizes(condition.text, predicate, &value->dimensions) ||
                                         !extend(node, condition, *value, predicate.axes)))
      return {};
  Value frame = yes.is(ValueKind::Tensor) ? yes : no, other = predicate;
  other.index = logicalNot(predicate.index);
  Condition holds{1, condition.text, node.text}, fails = holds;
  if (!typer.predicates.placed(condition, predicate, frame, placeNamings(frame.dimensions), holds.holds, takerOf(node)))
    return {};
  fails.holds = logicalNot(holds.holds);
  if (typer.predicates.neverHolds(typer.predicates.canonical(holds.holds, placeNamings(frame.dimensions)),
                                  placeNamings(frame.dimensions)))
    diagnostics.warning(condition.text, node.kind == NodeKind::Call
                                            ? "the condition holds nowhere: the first value is never taken"
                                            : "the condition holds nowhere: what stands before 'if' is never taken");

  auto isLowest = [](const Value &value) { return value.is(ValueKind::Number) && value.number == -INFINITY; };
  if (isLowest(yes) || isLowest(no)) {
    frame.finite.push_back(isLowest(yes) ? fails : holds);
    return frame;
  }
  Conditions finite;
  if (!yes.finite.empty() || !no.finite.empty()) {
    auto all = [](const Value &value) {
      Expr e = 1;
      for (const Condition &one : value.finite)
        e = logicalAnd(e, one.holds);
      return e;
    };
    finite.push_back(holds);
    finite[0].holds = logicalOr(logicalAnd(holds.holds, all(yes)), logicalAnd(fails.holds, all(no)));
    yes.finite.clear(), no.finite.clear();
  }
  auto part = [&](const Value &value, const Value &where) {
    return value.is(ValueKind::Tensor) ? guarded(node, condition, value, where)
                                       : constantWhere(node, condition, value.number, where, frame.dimensions);
  };
  auto isZero = [](const Value &value) { return value.is(ValueKind::Number) && value.number == 0; };
  Value first = isZero(yes) ? Value() : part(yes, predicate), second = isZero(no) ? Value() : part(no, other);
  if ((!isZero(yes) && !first.good()) || (!isZero(no) && !second.good()))
    return {};
  frame.tensor = !first.good()    ? second.tensor
                 : !second.good() ? first.tensor
                                  : typer.arithmetic.elementwise(node, typed::Function::Add,
                                                                 {first.tensor, second.tensor}, frame.dimensions);
  frame.finite = std::move(finite);
  return frame;
}

/// Returns the tensor where the condition holds, else 0.
Value Choices::guarded(const Node &node, const Node &condition, const Value &tensor, const Value &predicate) {
  Expr guard;
  if (auto own = ownNamings(tensor))
    return typer.predicates.expressIn(condition, predicate, tensor, *own, guard, takerOf(node))
               ? guardEinsum(tensor, guard)
               : Value();
  if (tensor.tensor->as<typed::Einsum>()) {
    if (!typer.predicates.placed(condition, predicate, tensor, placeNamings(tensor.dimensions), guard, takerOf(node)))
      return {};
    if (auto over = overOwnAxes(guard, tensor))
      return guardEinsum(tensor, *over);
  }
  std::vector<Naming> names = loneNamings(tensor.dimensions);
  if (!typer.predicates.expressIn(condition, predicate, tensor, names, guard, takerOf(node)))
    return {};
  std::string axes = print(names);
  Value value = tensor;
  value.tensor = append(node, typed::Einsum(axes + " -> " + axes, {}, guard), tensor.tensor, tensor.dimensions);
  return value;
}

/// Multiplies a tensor by a condition on its axes: the result is the tensor where the condition holds, and 0 elsewhere,
/// whatever value stands there, because masked elements are not multiplied. Nothing for other operands.
std::optional<Value> Choices::timesCondition(const Node &node, const Value &left, const Value &right) {
  for (auto [condition, other, place] : {std::tuple(&left, &right, 0), std::tuple(&right, &left, 1)})
    if (other->is(ValueKind::Tensor) && Predicates::isConditionOnValues(*condition))
      return typer.predicates.chooseByValues(node, *node.operands[place], *condition, *other, Value::whole(0));
  bool isLeft = left.is(ValueKind::Tensor);
  Value tensor = isLeft ? left : right;
  const Value &condition = isLeft ? right : left;
  if (!tensor.is(ValueKind::Tensor) || !condition.is(ValueKind::Index) || !subscript::isPredicate(condition.index) ||
      !tensor.present.empty() || !tensor.finite.empty())
    return std::nullopt;
  subscript::Substitution known = renaming(tensor.dimensions, placeNamings(tensor.dimensions));
  if (!llvm::all_of(condition.axes, [&](const auto &axis) { return known.count(axis.first); }))
    return std::nullopt;
  tensor = typer.arithmetic.widen(node, tensor);
  if (!tensor.good())
    return Value();
  return guarded(node, *node.operands[isLeft ? 1 : 0], tensor, condition);
}

/// Returns a number where the condition holds, else 0.
Value Choices::constantWhere(const Node &node, const Node &condition, double number, const Value &predicate,
                             const Dimensions &dimensions) {
  Value all = tensorValue({}, dimensions);
  std::vector<Naming> names = loneNamings(dimensions), used;
  Expr holds;
  if (!typer.predicates.expressIn(condition, predicate, all, names, holds, takerOf(node)))
    return {};
  // Two cases need a guard: infinity times a position of 0 is not a number, and positions along a run-time size are not
  // numbers.
  bool isNumber = std::isfinite(number);
  std::set<std::string> counted = subscript::symbolsOutsideReads(holds);
  for (size_t d = 0; d < names.size(); ++d)
    isNumber &= !dimensions[d].isRuntime() || !counted.count(names[d][0].name);
  if (!isNumber) {
    all.tensor = typer.arithmetic.splat(node, number, dimensions);
    return guarded(node, condition, all, predicate);
  }
  Dimensions own;
  std::set<std::string> symbols = subscript::symbolsOf(holds);
  for (size_t d = 0; d < names.size(); ++d)
    if (symbols.count(names[d][0].name)) {
      used.push_back(names[d]);
      own.push_back({dimensions[d].size, dimensions[d].runtime, {names[d]}});
    }
  Value value = typer.arithmetic.positionTensor(node, holds, own);
  if (value.good() && used.size() != names.size())
    value = typer.moves.rearrange(node, value, used, names, dimensions);
  if (!value.good() || number == 1)
    return value;
  value.tensor = typer.arithmetic.elementwise(
      node, typed::Function::Multiply, {value.tensor, typer.arithmetic.splat(node, number, dimensions)}, dimensions);
  return value;
}

/// Returns the names that an einsum's own text gives its result; nothing if the value is no einsum, or has lost these
/// names.
std::optional<std::vector<Naming>> Choices::ownNamings(const Value &value) const {
  auto *einsum = value.tensor->as<typed::Einsum>();
  if (!einsum || einsum->spec.result->size() != value.dimensions.size())
    return std::nullopt;
  std::vector<Naming> own;
  for (size_t d = 0; d < value.dimensions.size(); ++d)
    for (const Naming &naming : value.dimensions[d].namings)
      if (own.size() == d && print(naming) == subscript::print({(*einsum->spec.result)[d]}))
        own.push_back(naming);
  return own.size() == value.dimensions.size() ? std::optional(own) : std::nullopt;
}

/// Returns a condition on the places d0, d1, … of an einsum's result, over the axes of the einsum's text. An einsum
/// that comes out of a scheme needs it, because the names of its axes are not the caller's. Nothing if the axes do not
/// determine each place.
std::optional<Expr> Choices::overOwnAxes(const Expr &holds, const Value &value) const {
  const subscript::Dimensions &result = *value.tensor->as<typed::Einsum>()->spec.result;
  auto sizes = kernel.sizesOf(*value.tensor);
  if (!sizes || result.size() != value.dimensions.size())
    return std::nullopt;
  subscript::Substitution places;
  std::vector<Naming> own;
  for (size_t d = 0; d < result.size(); ++d) {
    if (!result[d].isProduct())
      return std::nullopt;
    Naming &naming = own.emplace_back();
    for (const std::string &axis : result[d].axes)
      naming.push_back({axis, sizes->at(axis), value.dimensions[d].runtime});
    places[placeName(d)] = subscript::flatIndex(result[d], *sizes);
  }
  return typer.predicates.canonical(subscript::substitute(holds, places), own);
}

/// Returns a copy of the einsum with an additional guard, because the value without it may be used elsewhere.
Value Choices::guardEinsum(Value value, const Expr &guard) {
  typed::Tensor copy = *value.tensor;
  auto &einsum = std::get<typed::Einsum>(copy.operation);
  einsum.guard = einsum.guard ? logicalAnd(*einsum.guard, guard) : guard;
  copy.uses = 0;
  value.tensor = kernel.append(std::move(copy));
  return value;
}

/// Returns einsum("…", …, where = P): the sum over the elements at which the condition holds. The condition may name
/// axes that are summed over.
Value Choices::onlyWhere(const Node &condition, const Value &value, const std::map<std::string, Axis> &axes,
                         ArrayRef<std::string> summed) {
  auto own = ownNamings(value);
  if (!own)
    return error(condition.text, "'where' cannot name the axes of this einsum's result");
  Value named = value;
  for (const std::string &axis : summed)
    if (auto found = axes.find(axis); found != axes.end()) {
      own->push_back({found->second});
      named.dimensions.push_back({found->second.size, found->second.runtime, {own->back()}});
    }
  auto evaluated = typer.predicates.predicate(condition, named);
  Expr guard;
  if (!evaluated || !typer.predicates.expressIn(condition, *evaluated, named, *own, guard))
    return {};
  if (typer.predicates.neverHolds(guard, *own))
    diagnostics.warning(condition.text, "the condition holds nowhere: the einsum is always 0");
  return guardEinsum(value, guard);
}

} // namespace skewer::language
