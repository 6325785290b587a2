// Resolution of names in statements and expressions. A bare name that is an axis in scope and also has a value has two
// meanings, which is an error. `Place` lists the few places where only one meaning is possible.
#include "dialect/Language/BodyResolver.h"

using namespace llvm;

namespace skewer::language {

void BodyResolver::resolve(const std::vector<Statement> &body) {
  for (const Statement &statement : body) {
    if (diagnostics.exhausted())
      return;
    if (!statement.isBroken && statement.value) {
      if (statement.isPart || statement.isRequirement) {
        if (statement.extent)
          visit(*statement.extent, Place::Number);
        visit(*statement.value, Place::Number);
      } else {
        visitStatement(*statement.value);
      }
    }
    for (StringRef target : statement.targets)
      if (!statement.isPart)
        names.declare(target, SymbolKind::Local, diagnostics);
      else
        refusesReserved(target, diagnostics);
  }
}

/// Returns the place of the parts of an expression at this place, if the expression is more than a name.
BodyResolver::Place BodyResolver::within(Place place) {
  switch (place) {
  case Place::Number:
  case Place::Position:
    return place;
  case Place::PositionDivisor:
    return Place::Position;
  case Place::Axis:
  case Place::AxisOrSize:
  case Place::AxisName:
    return Place::Number;
  case Place::Expression:
  case Place::Tensor:
  case Place::Divisor:
    break;
  }
  return Place::Expression;
}

void BodyResolver::visitNext(const std::vector<NodePtr> &nodes, size_t first, Place place) {
  for (size_t k = first; k < nodes.size(); ++k)
    if (nodes[k])
      visit(*nodes[k], place);
}

void BodyResolver::visit(const Node &node, Place place) {
  switch (node.kind) {
  case NodeKind::Name:
    return visitName(node, place);
  case NodeKind::Number:
  case NodeKind::String:
  case NodeKind::Ellipsis:
    return;
  case NodeKind::Tuple:
    return visitNext(node.operands, 0, place == Place::Axis || place == Place::AxisName ? place : within(place));
  case NodeKind::Slice:
    return visitNext(node.operands, 0, Place::Number);
  case NodeKind::Where:
    visit(*node.operands[0], Place::Tensor);
    return visit(*node.operands[1], Place::Expression);
  case NodeKind::Binary:
    return visitBinary(node, place);
  case NodeKind::Unary:
  case NodeKind::Conditional:
    return visitNext(node.operands, 0, within(place));
  case NodeKind::Call:
    return visitCall(node, place);
  case NodeKind::Subscript:
    return visitSubscript(node, place);
  }
}

/// Returns whether the node is a negative number: d^-0.5 divides by a power of d.
static bool isNegative(const Node &node) {
  return node.kind == NodeKind::Unary && node.name == "-" && node.operands[0]->kind == NodeKind::Number;
}

/// Visits both operands. Names in a divisor, also inside its products and powers, mean a number if they can.
void BodyResolver::visitBinary(const Node &node, Place place) {
  const Node &left = *node.operands[0], &right = *node.operands[1];
  bool isDivisor = place == Place::Divisor || place == Place::PositionDivisor;
  Place own = within(place), divisor = divisorAt(place);
  visit(left, (node.name == "*" && isDivisor) || (node.name == "^" && (isDivisor || isNegative(right))) ? divisor
                                                                                                        : own);
  visit(right, node.name == "/" || (node.name == "*" && isDivisor) ? divisor : own);
}

/// Returns the place of a divisor in an expression at this place.
BodyResolver::Place BodyResolver::divisorAt(Place place) {
  Place own = within(place);
  return own == Place::Position ? Place::PositionDivisor : own == Place::Number ? own : Place::Divisor;
}

/// Visits x[…]: the name before the bracket is a value if one has that name. Subscripts next to slices are numbers.
void BodyResolver::visitSubscript(const Node &node, Place place) {
  const Node &base = *node.operands[0];
  visit(base, base.kind == NodeKind::Name ? Place::Tensor : within(place));
  auto isNone = [](const Node &item) { return item.kind == NodeKind::Name && item.name == "None"; };
  bool isSliced = any_of(drop_begin(node.operands), [&](const NodePtr &item) {
    return item->kind == NodeKind::Slice || item->kind == NodeKind::Ellipsis || isNone(*item);
  });
  for (const NodePtr &item : drop_begin(node.operands))
    if (!isNone(*item))
      visit(*item, isSliced ? Place::Number : within(place));
}

/// Visits the whole expression of a statement. A name alone is the value, y = m and return m, even if an axis has its
/// name.
void BodyResolver::visitStatement(const Node &node) {
  if (node.kind == NodeKind::Tuple)
    visitNext(node.operands, 0, Place::Tensor);
  else
    visit(node, Place::Tensor);
}

void BodyResolver::visitName(const Node &node, Place place) {
  std::string name = node.name.str();
  auto value = names.values.find(name);
  auto axis = names.axes.find(name);
  bool hasValue = value != names.values.end(), isAxis = axis != names.axes.end();
  Symbol position{SymbolKind::Axis, isAxis ? axis->second : StringRef()};
  if (place == Place::AxisName)
    return symbols.record(node, position);
  if (!hasValue)
    return symbols.record(node, isAxis ? position : Symbol());
  Symbol own = value->second;
  bool isDivisor = place == Place::Divisor || place == Place::PositionDivisor;
  own.isSettled = place == Place::Number || place == Place::Tensor || (isDivisor && own.isNumber());
  if (!isAxis || place == Place::Number)
    return symbols.record(node, own);
  if (own.kind == SymbolKind::Size) // it can only be the size of a dimension
    return symbols.record(node, position);
  if (place == Place::Tensor || (isDivisor && own.isNumber()))
    return symbols.record(node, own);
  if (place == Place::Position || place == Place::PositionDivisor || place == Place::Axis ||
      place == Place::AxisOrSize) {
    if (own.kind == SymbolKind::Operand)
      return symbols.record(node, position);
    if (!own.isNumber())
      return symbols.record(node, {SymbolKind::Either, own.declared});
  }
  symbols.record(node, {SymbolKind::Contested, own.declared});
  if (names.contested.insert(name).second) // once for each name of a body
    reportContest(node.text, name, own);
}

void BodyResolver::reportContest(StringRef place, const std::string &name, const Symbol &own) {
  diagnostics.error(place, "'" + name + "' is an axis here, and " + describe(own.kind).str() + " too");
  diagnostics.note("the position along the axis is position(" + name + "), the value is " + name +
                   "[...]; or give one of them another name");
  diagnostics.note(own.declared, "the value is declared here");
}

} // namespace skewer::language
