// Arithmetic on tensors: the operands are brought to one shape, by the names of their axes or by position.
#include "dialect/Language/Typer.h"
#include "dialect/Language/Joins.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {
using subscript::kRuntime;

typed::Tensor *Arithmetic::splat(const Node &node, double number, const Dimensions &dimensions) {
  return append(node, typed::Splat{static_cast<float>(number)}, {}, dimensions);
}

typed::Tensor *Arithmetic::elementwise(const Node &node, typed::Function function, ArrayRef<typed::Tensor *> operands,
                                       const Dimensions &dimensions) {
  return append(node, typed::Elementwise{function}, operands, dimensions);
}

/// Converts the tensor to f32, because arithmetic is in f32. f16 and bf16 are only storage types of operands and
/// results.
Value Arithmetic::widen(const Node &node, Value value) {
  if (value.is(ValueKind::Tensor) && value.tensor->element != typed::Element::F32)
    value.tensor = append(node, typed::Cast{}, value.tensor, value.dimensions);
  return value;
}

/// Returns a function of positions as a tensor over the axes that were written, even if simplification removed some of
/// them from the function. The tensor is repeated along the removed axes, unless the tensor that it meets, `beside`,
/// has them.
Value Arithmetic::toTensor(const Node &node, const Value &value, const Dimensions *beside) {
  if (!value.is(ValueKind::Index) && !value.is(ValueKind::Real))
    return value;
  Value function = beside ? sizedBy(value, *beside) : value;
  if (!typer.sizes.relyOnSizes(node.text, function, beside))
    return {};
  Value result;
  if (function.is(ValueKind::Real)) {
    if (multipliesInfinity(*value.function)) {
      error(node.text, "infinity is multiplied by a factor that may be 0, and that product is not a number");
      diagnostics.note("for -inf at some positions alone: -inf if condition else 0");
      return {};
    }
    auto split = splitLowest(function.function);
    result = split ? typer.absent.lowestTensor(node, function, *split) : typer.reals.realTensor(node, function);
  } else if (function.index.isConstant()) {
    result = Value::whole(function.index.value());
  } else {
    std::map<std::string, Axis> left;
    for (const std::string &symbol : subscript::symbolsOf(function.index))
      if (auto axis = function.axes.find(symbol); axis != function.axes.end())
        left.insert(*axis);
    result = positionTensor(node, function.index, typer.choices.inOrder(left));
  }
  return result.good() ? repeatedAlong(node, std::move(result), function.axes, beside) : result;
}

/// Repeats the number or tensor along these axes, except those that `beside` has.
Value Arithmetic::repeatedAlong(const Node &node, Value value, const std::map<std::string, Axis> &axes,
                                const Dimensions *beside) {
  std::map<std::string, Axis> missing = axes;
  if (beside)
    for (const Dimension &d : *beside)
      for (const Naming &naming : d.namings)
        for (const Axis &axis : naming)
          missing.erase(axis.name);
  if (value.is(ValueKind::Number) && !missing.empty()) {
    Dimensions dimensions = typer.choices.inOrder(missing);
    value = tensorValue(splat(node, value.number, dimensions), dimensions);
    value.order.isWritten = false;
  }
  return value.is(ValueKind::Number) || typer.choices.extend(node, node, value, missing) ? value : Value();
}

/// Returns the function of positions with the axis sizes of a tensor that it meets.
Value Arithmetic::sizedBy(Value function, const Dimensions &dimensions) {
  for (const Dimension &d : dimensions)
    for (const Naming &naming : d.namings)
      for (const Axis &axis : naming)
        if (auto own = function.axes.find(axis.name); own != function.axes.end())
          own->second = axis;
  return function;
}

/// Returns an index expression as a tensor of numbers. Each dimension is named by one axis.
Value Arithmetic::positionTensor(const Node &node, const subscript::Expr &index, Dimensions dimensions) {
  std::string axes;
  std::set<std::string> numbers = subscript::symbolsOutsideReads(index);
  for (const Dimension &d : dimensions) {
    axes += (axes.empty() ? "" : " ") + d.namings[0][0].name;
    if (d.isRuntime() && numbers.count(d.namings[0][0].name))
      return error(node.text, "a position along the run-time size '" + d.runtime + "' cannot be used as a number");
  }
  typed::Tensor *tensor = append(node, typed::Position{axes, index}, {}, dimensions);
  Value result = tensorValue(tensor, std::move(dimensions));
  result.order.isWritten = false;
  return result;
}

/// Returns whether the tensor consists of zeros, repeated or not.
static bool isZero(const typed::Tensor &tensor) {
  if (auto *splat = tensor.as<typed::Splat>())
    return splat->number == 0;
  if (auto *constant = tensor.as<typed::Constant>())
    return llvm::all_of(constant->elements, [](float number) { return number == 0; });
  bool isMade = tensor.as<typed::Rearrange>() || tensor.as<typed::Reshape>() || tensor.as<typed::Einsum>();
  return isMade && isZero(*tensor.operands[0]);
}

/// Returns whether the operation keeps -inf as -inf, so that nothing has to be computed at such elements.
static bool keepsLowest(StringRef op, const Value &value, const Value &other, bool isLeft) {
  if (other.is(ValueKind::Number))
    return std::isfinite(other.number) &&
           (op == "+" || (op == "-" && isLeft) || (other.number > 0 && (op == "*" || (op == "/" && isLeft))));
  return op == "+" || (op == "-" && isLeft);
}

/// Returns whether the value is inf, or a function of positions that is inf at some of them.
static bool addsInfinity(const Value &value) {
  if (value.is(ValueKind::Number))
    return value.number == INFINITY;
  return value.is(ValueKind::Real) && splitLowest(makeReal(RealKind::Negate, {value.function}, nullptr));
}

Value Arithmetic::arithmetic(const Node &node, StringRef op, Value left, Value right) {
  std::optional<typed::Function> function = typed::functionNamed(op);
  if (!function)
    return error(node.text, "'" + op.str() + "' is of numbers and positions, found a tensor");
  if (node.kind == NodeKind::Binary && (op == "+" || op == "-")) {
    typer.reals.noteFiniteMask(node, op, right, *node.operands[1]);
    typer.reals.noteFiniteMask(node, "+", left, *node.operands[0]);
  }
  if (op == "-" && right.is(ValueKind::Number) && std::isinf(right.number))
    op = "+", right = Value::real(-right.number);
  if (op == "-" && right.is(ValueKind::Real) && splitLowest(makeReal(RealKind::Negate, {right.function}, &node)))
    op = "+", right.function = makeReal(RealKind::Negate, {right.function}, &node);
  if (op == "+" || op == "-")
    for (const Value *value : {&left, &right})
      if (addsInfinity(*value)) {
        error(node.text, "adding inf to a tensor gives elements of inf, and a softmax of these is not a number");
        diagnostics.note("a key is hidden by -inf, or by 'where'");
        return {};
      }
  const Dimensions ofLeft = left.dimensions, ofRight = right.dimensions;
  left = widen(node, toTensor(node, left, right.is(ValueKind::Tensor) ? &ofRight : nullptr));
  right = widen(node, toTensor(node, right, left.is(ValueKind::Tensor) ? &ofLeft : nullptr));
  if (!left.good() || !right.good())
    return {};
  if (op == "+")
    for (auto [number, tensor] : {std::pair(&left, &right), std::pair(&right, &left)})
      if (number->is(ValueKind::Number) && number->number == -INFINITY) { // a mask that hides everything
        tensor->finite.push_back({0, node.text, node.text});
        return *tensor;
      }
  bool keeps = keepsLowest(op, left, right, true), keepsRight = keepsLowest(op, right, left, false);
  left = keeps ? left : typer.absent.written(node, std::move(left));
  right = keepsRight ? right : typer.absent.written(node, std::move(right));
  if (!left.good() || !right.good())
    return {};
  if (op == "neg") {
    left.tensor = elementwise(node, typed::Function::Negate, left.tensor, left.dimensions);
    return left;
  }
  bool square = op == "^" && right.is(ValueKind::Number) && right.number == 2;
  if (left.is(ValueKind::Number))
    left.tensor = typer.reals.beside(node, left, right.dimensions), left.dimensions = right.dimensions,
    left.order = right.order;
  else if (square)
    right.tensor = left.tensor, right.dimensions = left.dimensions;
  else if (right.is(ValueKind::Number))
    right.tensor = typer.reals.beside(node, right, left.dimensions), right.dimensions = left.dimensions;
  else if (left.present.empty() != right.present.empty())
    return typer.absent.refuseMixture(node, op, left.present.empty() ? right : left), Value();
  else if (!align(node, left, right) || !typer.absent.joinConditions(node, op, left, right))
    return {};
  if (left.is(ValueKind::Number))
    left.present = right.present, left.finite = right.finite;
  left.kind = ValueKind::Tensor;
  if (op == "+" && !left.finite.empty()) // an additive mask adds 0 to the elements that it keeps
    for (auto [mask, other] : {std::pair(left.tensor, right.tensor), std::pair(right.tensor, left.tensor)})
      if (isZero(*mask))
        return left.tensor = other, left;
  left.tensor = elementwise(node, square ? typed::Function::Multiply : *function, {left.tensor, right.tensor},
                            left.dimensions);
  return left;
}

/// Returns whether both have the same dimensions, by size and by name, in the same order.
static bool haveSameShape(const Dimensions &a, const Dimensions &b) {
  return llvm::equal(a, b, [](const Dimension &one, const Dimension &other) {
    return one.size == other.size && one.runtime == other.runtime && describeAxes({one}) == describeAxes({other});
  });
}

/// Brings both to one shape, the one that `join` computes. False after an error.
bool Arithmetic::align(const Node &node, Value &left, Value &right) {
  if (!scope->parts.empty()) {
    left = typer.positions.localised(node, left);
    right = typer.positions.localised(node, right);
  }
  if (!fillOnes(node, left, right) || !fillOnes(node, right, left))
    return false;
  Joined joined = join({left.dimensions, left.order}, {right.dimensions, right.order});
  if (joined.complaint) {
    error(node.text, joined.complaint->message);
    for (const std::string &note : joined.complaint->notes)
      diagnostics.note(note);
    if (joined.complaint->notes.empty())
      noteOnShapes(node, left, right);
    return false;
  }
  Value target;
  target.dimensions = joined.shape.dimensions;
  for (Value *value : {&left, &right}) {
    bool isShaped = joined.isAsBoth || haveSameShape(value->dimensions, target.dimensions);
    if (!isShaped && !(joined.byName ? alignByName(node, *value, target) : alignByPosition(node, *value, target)))
      return false;
    value->dimensions = joined.shape.dimensions, value->order = joined.shape.order;
  }
  return true;
}

/// Repeats dimensions of size 1 at the end of a tensor along the axes that it lacks, if there are as many dimensions as
/// axes: g[..., None] * (i - j). False after an error.
bool Arithmetic::fillOnes(const Node &node, const Value &named, Value &tensor) {
  const Shape own{named.dimensions, named.order}, ones{tensor.dimensions, tensor.order};
  if (auto complaint = complaintOfOnes(own, ones)) {
    error(node.text, complaint->message);
    for (const std::string &note : complaint->notes)
      diagnostics.note(note);
    return false;
  }
  std::vector<Axis> missing = axesForOnes(own, ones);
  if (missing.empty())
    return true;
  Value shape;
  shape.dimensions = tensor.dimensions;
  size_t rank = tensor.dimensions.size();
  for (size_t k = 0; k < missing.size(); ++k)
    shape.dimensions[rank - missing.size() + k] = {missing[k].size, "", {{missing[k]}}};
  bool good = alignByPosition(node, tensor, shape);
  tensor.dimensions = shape.dimensions;
  return good;
}

/// Repeats `small` along the axes that it lacks, until it has the dimensions of `large`.
bool Arithmetic::alignByName(const Node &node, Value &small, const Value &large) {
  std::vector<Naming> from;
  std::set<std::string> wanted;
  for (const Dimension &d : small.dimensions) {
    Naming naming = d.namings[0];
    for (const Naming &mine : d.namings)
      for (const Dimension &other : large.dimensions)
        for (const Naming &theirs : other.namings)
          if (print(mine) == print(theirs))
            naming = mine;
    from.push_back(naming);
    for (const Axis &axis : naming)
      wanted.insert(axis.name);
  }
  for (const Dimension &d : large.dimensions)
    for (const auto &[name, clash] : d.clashes)
      if (wanted.count(name))
        return typer.names.clashing(node.text, name, clash), false;
  std::vector<Naming> to;
  std::set<std::string> covered;
  size_t fresh = 0;
  for (const Dimension &d : large.dimensions) {
    const Naming *best = nullptr;
    for (const Naming &naming : d.namings)
      if (!best &&
          any_of(naming, [&](const Axis &axis) { return wanted.count(axis.name) && !covered.count(axis.name); }))
        best = &naming;
    Naming own = best ? *best : !d.namings.empty() ? d.namings[0] : Naming{};
    bool clash = any_of(own, [&](const Axis &axis) { return !best && wanted.count(axis.name); });
    if (own.empty() || clash)
      own = {Axis{"x" + std::to_string(fresh++) + "'", d.size, d.runtime}};
    for (const Axis &axis : own)
      covered.insert(axis.name);
    to.push_back(own);
  }
  for (const std::string &axis : wanted)
    if (!covered.count(axis)) {
      Complaint complaint = complaintOfMissing(axis, large.dimensions);
      error(node.text, complaint.message);
      for (const std::string &note : complaint.notes)
        diagnostics.note(note);
      return false;
    }
  for (const Naming &a : from)
    for (const Axis &axis : a)
      for (const Naming &b : to)
        for (const Axis &other : b)
          if (axis.name == other.name && (axis.size != other.size || axis.runtime != other.runtime)) {
            auto size = [](const Axis &axis) {
              return axis.runtime.empty() ? std::to_string(axis.size) : axis.runtime;
            };
            error(node.text, "axis '" + axis.name + "' has size " + size(axis) + " in one operand and " + size(other) +
                                 " in the other");
            return false;
          }
  if (print(from) == print(to)) {
    small.dimensions = large.dimensions;
    return true;
  }
  small = typer.moves.rearrange(node, small, from, to, large.dimensions);
  return small.good();
}

/// Adds a note on how to align an operand without names with an operand that has names: slope[h].
void Arithmetic::noteOnShapes(const Node &node, const Value &small, const Value &large) {
  bool isSmaller = small.dimensions.size() < large.dimensions.size();
  const Value &one = isSmaller ? small : large, &other = isSmaller ? large : small;
  const Node *name = nullptr;
  for (const NodePtr &operand : node.operands)
    if (const Value *value = operand->kind == NodeKind::Name ? typer.names.lookup(operand->name.str()) : nullptr;
        value && value->is(ValueKind::Tensor) && value->tensor == one.tensor)
      name = operand.get();
  std::string axes;
  for (const Dimension &wanted : one.dimensions) {
    std::vector<std::string> found;
    for (const Dimension &d : other.dimensions)
      if (d.size == wanted.size && d.runtime == wanted.runtime && !d.namings.empty() && d.namings[0].size() == 1)
        found.push_back(d.namings[0][0].name);
    if (found.size() != 1 || !wanted.namings.empty())
      return;
    axes += (axes.empty() ? "" : ", ") + found[0];
  }
  if (name && small.dimensions.size() != large.dimensions.size())
    diagnostics.note("'" + name->name.str() +
                     "' has no named axes and is lined up from its last dimension; at its axes it is " +
                     name->name.str() + "[" + axes + "]");
}

/// Applies NumPy's rule: from the last dimension on, sizes are equal or 1; dimensions that `small` lacks are put in
/// front.
bool Arithmetic::alignByPosition(const Node &node, Value &small, const Value &large) {
  size_t rank = std::max(small.dimensions.size(), large.dimensions.size());
  size_t ours = rank - small.dimensions.size(), theirs = rank - large.dimensions.size();
  std::vector<Naming> from, to;
  Dimensions kept, target;
  bool ones = false;
  for (size_t d = 0; d < rank; ++d) {
    const Dimension *mine = d >= ours ? &small.dimensions[d - ours] : nullptr;
    const Dimension *other = d >= theirs ? &large.dimensions[d - theirs] : nullptr;
    Axis axis{"x" + std::to_string(d), 0, ""};
    bool repeat = !mine || (mine->size == 1 && other && other->size != 1);
    if (mine && other && !repeat && other->size != 1 &&
        (mine->size != other->size || mine->runtime != other->runtime)) {
      error(node.text, "the shapes " + describe(small.dimensions) + " and " + describe(large.dimensions) +
                           " do not fit: dimension " + std::to_string(d + 1) + " of " + std::to_string(rank) +
                           " differs");
      noteOnShapes(node, small, large);
      return false;
    }
    const Dimension &take = repeat ? *other : *mine;
    axis.size = take.size, axis.runtime = take.runtime;
    to.push_back({axis});
    target.push_back(repeat ? take : *mine);
    ones |= repeat && mine;
    if (!repeat) {
      from.push_back({axis});
      kept.push_back(*mine);
    }
  }
  if (from.size() == rank)
    return true;
  if (ones)
    small = typer.moves.reshapeTo(node, small, kept);
  if (small.good())
    small = typer.moves.rearrange(node, small, from, to, target);
  return small.good();
}

} // namespace skewer::language
