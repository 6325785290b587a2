// Elements of a tensor that are absent (`x where P`) or -inf: how operations carry them along, and which operations may
// read them.
#include "dialect/Language/Typer.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

namespace {
/// Returns a piece of the text on one line, for a message.
std::string excerpt(StringRef text) {
  constexpr size_t kMaximum = 60;
  std::string result;
  for (char c : text.take_front(2 * kMaximum)) {
    bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space || (!result.empty() && result.back() != ' '))
      result += space ? ' ' : c;
  }
  return result.size() > kMaximum ? result.substr(0, kMaximum - 1) + "…" : result;
}

/// Returns the text in parentheses, unless it is a name or a call.
std::string parenthesized(StringRef text) {
  std::string one = excerpt(text);
  bool simple = all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
  int depth = 0;
  bool call = !text.empty() && text.back() == ')' && (isAlnum(text[0]) || text[0] == '_' || text[0] == '(');
  for (size_t k = 0; call && k + 1 < text.size(); ++k) {
    depth += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
    call = depth > 0 || isAlnum(text[k]) || text[k] == '_';
  }
  return simple || call ? one : "(" + one + ")";
}

Expr conjunction(const Conditions &conditions) {
  Expr all = 1;
  for (const Condition &condition : conditions)
    all = all.isConstant(1) ? condition.holds : logicalAnd(all, condition.holds);
  return all;
}

} // namespace

/// Evaluates x where P: the elements at which the condition does not hold are absent.
Value AbsentElements::typeWhere(const Node &node) {
  Value value = evaluate(*node.operands[0]);
  value = typer.arithmetic.toTensor(*node.operands[0], value);
  if (!value.good())
    return {};
  if (!value.is(ValueKind::Tensor))
    return error(node.operands[0]->text, "'where' follows a tensor, found " + describe(value));
  auto condition = typer.predicates.predicate(*node.operands[1], value);
  Condition absent{1, node.operands[1]->text, node.operands[0]->text};
  if (!condition ||
      !typer.predicates.placed(*node.operands[1], *condition, value, placeNamings(value.dimensions), absent.holds))
    return {};
  value.present.insert(value.present.begin(), std::move(absent));
  return value;
}

/// Reports an error and returns false if elements of the tensor are absent. `reader` ends with its verb: "'einsum'
/// reads".
bool AbsentElements::refuseAbsent(StringRef place, const Value &value, StringRef reader) {
  if (value.present.empty())
    return true;
  const Condition &absent = value.present.front();
  error(place, reader.str() + " elements that are absent");
  diagnostics.note(absent.text, "they are absent where this does not hold");
  diagnostics.note(
      "'softmax' and 'logsumexp' leave absent elements out, nothing else does; to have 0 in their place: " +
      parenthesized(absent.value) + " if " + excerpt(absent.text) + " else 0");
  return false;
}

/// Reports why a tensor with absent elements and another tensor cannot be combined. Returns false.
bool AbsentElements::refuseMixture(const Node &node, StringRef op, const Value &value) {
  const Condition &absent = value.present.front();
  std::string condition = excerpt(absent.text);
  error(node.text,
        "'" + op.str() + "' of a tensor of which elements are absent and another tensor can mean two things");
  diagnostics.note(absent.text, "elements are absent where this does not hold");
  bool isWithin = node.text.begin() <= absent.text.begin() && absent.text.end() <= node.text.end();
  diagnostics.note("to hide them from the softmax, 'where' stands around the whole: " +
                   (isWithin ? "(… " + op.str() + " …)" : parenthesized(node.text)) + " where " + condition);
  diagnostics.note("to have 0 in their place: " + parenthesized(absent.value) + " if " + condition + " else 0");
  return false;
}

/// Joins the conditions of two tensors of one shape in an operation. Both must be absent at the same elements, or
/// neither. False after an error.
bool AbsentElements::joinConditions(const Node &node, StringRef op, Value &left, const Value &right) {
  auto simple = [&](const Conditions &conditions) {
    return typer.predicates.canonical(conjunction(conditions), placeNamings(left.dimensions));
  };
  if (simple(left.present) != simple(right.present)) {
    error(node.text, "'" + op.str() + "' of two tensors of which different elements are absent");
    for (const Value *value : {static_cast<const Value *>(&left), &right})
      diagnostics.note(value->present.front().text, "of one they are absent where this does not hold");
    diagnostics.note(
        "to hide what either lacks, 'where' stands around the whole; to have 0 in its place: x if P else 0");
    return false;
  }
  for (const Condition &condition : right.finite)
    if (none_of(left.finite, [&](const Condition &own) { return own.holds == condition.holds; }))
      left.finite.push_back(condition);
  constexpr size_t kMaximumConditions = 256;
  if (left.finite.size() <= kMaximumConditions)
    return true;
  return error(node.text,
               "more than " + std::to_string(kMaximumConditions) + " conditions with -inf come together here"),
         false;
}

/// Sets the conditions of a value whose element at d0, d1, … is the operand's element at `places`.
void AbsentElements::moveConditions(Value &value, const Value &operand, const subscript::Substitution &places) const {
  constexpr size_t kMaximumSize = 1 << 12;
  auto moved = [&](const Conditions &conditions) {
    Conditions result = conditions;
    for (Condition &condition : result) {
      condition.holds =
          typer.predicates.canonical(subscript::substitute(condition.holds, places), placeNamings(value.dimensions));
      if (sizeOf(condition.holds) <= kMaximumSize)
        continue;
      condition.holds = 1;
      diagnostics.error(condition.text, "this condition cannot be followed through so many moves of elements");
      diagnostics.note("write 'where' after these moves, with the axes of their result");
    }
    return result;
  };
  Conditions present = moved(operand.present), finite = moved(operand.finite);
  value.present = std::move(present), value.finite = std::move(finite);
}

/// Returns the result of an operation that only moves elements, with the conditions of its operand. Padding is never
/// absent.
Value AbsentElements::carried(Value result, const Value &operand) const {
  if (operand.present.empty() && operand.finite.empty())
    return result;
  attn::IndexMap map = typed::indexMapOf(*result.tensor);
  subscript::Substitution places, own; // the map knows the result's places as d0, d1, …
  for (size_t d = 0; d < result.dimensions.size(); ++d)
    own["d" + std::to_string(d)] = Expr::symbol(placeName(d));
  for (auto [d, index] : enumerate(map.subscripts))
    places[placeName(d)] = subscript::substitute(index, own);
  moveConditions(result, operand, places);
  Expr inside = subscript::substitute(map.inside, own);
  if (!inside.isConstant(1))
    for (Conditions *conditions : {&result.present, &result.finite})
      for (Condition &condition : *conditions)
        condition.holds = logicalOr(logicalNot(inside), condition.holds);
  return result;
}

/// Returns the tensor where it is not -inf, and 0 elsewhere. If given, `predicate` receives the condition, and `named`
/// the tensor with place names, which the condition uses.
Value AbsentElements::shown(const Node &node, Value value, Value *predicate, Value *named) {
  std::vector<Naming> places = placeNamings(value.dimensions);
  Value condition;
  condition.kind = ValueKind::Index;
  condition.index = conjunction(value.finite);
  value.finite.clear();
  Value byPlace = value;
  for (size_t d = 0; d < places.size(); ++d)
    byPlace.dimensions[d].namings = {places[d]};
  Value numbers = typer.choices.guarded(node, node, typer.arithmetic.widen(node, byPlace), condition);
  if (predicate)
    *predicate = condition, *named = byPlace;
  value.tensor = numbers.tensor;
  return numbers.good() ? value : Value();
}

/// Returns the tensor with -inf written at the elements that are -inf by its conditions.
Value AbsentElements::written(const Node &node, Value value) {
  if (value.finite.empty())
    return value;
  Value predicate, named, numbers = shown(node, value, &predicate, &named);
  predicate.index = logicalNot(predicate.index);
  Value lowest = typer.choices.constantWhere(node, node, -INFINITY, predicate, named.dimensions);
  if (!numbers.good() || !lowest.good())
    return {};
  numbers.tensor =
      typer.arithmetic.elementwise(node, typed::Function::Add, {numbers.tensor, lowest.tensor}, numbers.dimensions);
  return numbers;
}

/// Returns a function of positions that is -inf at some positions, as a tensor.
Value AbsentElements::lowestTensor(const Node &node, const Value &real, const LowestSplit &split) {
  auto condition = typer.predicates.conditionOf(node, split.holds, real);
  if (!condition)
    return {};
  std::map<std::string, Axis> axes;
  for (const std::string &symbol : subscript::symbolsOf(*condition))
    if (auto axis = real.axes.find(symbol); axis != real.axes.end())
      axes.insert(*axis);
  Value value = real;
  value.function = split.value;
  value =
      split.value->kind == RealKind::Number ? Value::real(split.value->number) : typer.arithmetic.toTensor(node, value);
  if (value.is(ValueKind::Number)) {
    double number = value.number;
    value = tensorValue({}, {});
    value.dimensions = typer.choices.inOrder(axes);
    value.order.isWritten = false;
    value.tensor = typer.arithmetic.splat(node, number, value.dimensions);
  }
  if (!value.good() || !typer.choices.extend(node, node, value, axes))
    return {};
  Value predicate;
  predicate.kind = ValueKind::Index;
  predicate.index = *condition;
  Condition finite{1, node.text, node.text};
  if (!typer.predicates.placed(node, predicate, value, placeNamings(value.dimensions), finite.holds))
    return {};
  value.finite.push_back(std::move(finite));
  return value;
}

} // namespace skewer::language
