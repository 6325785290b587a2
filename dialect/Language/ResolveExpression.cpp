// Names in expressions. A name that is an axis in scope and has a value has two meanings wherever it stands bare, and is
// an error there; the few places where one of them alone is possible are those of `Place`.
#include "dialect/Language/Resolver.h"

using namespace llvm;

namespace skewer::language {

/// What may stand inside an expression at such a place, once it is more than a name.
Resolver::Place Resolver::within(Place place) {
  switch (place) {
  case Place::Number:
  case Place::Position:
    return place;
  case Place::Axis:
  case Place::AxisOrSize:
  case Place::AxisName:
    return Place::Number;
  case Place::Expression:
  case Place::Tensor:
    break;
  }
  return Place::Expression;
}

void Resolver::visitNext(const std::vector<NodePtr> &nodes, size_t first, Place place) {
  for (size_t k = first; k < nodes.size(); ++k)
    if (nodes[k])
      visit(*nodes[k], place);
}

void Resolver::visit(const Node &node, Place place) {
  switch (node.kind) {
  case NodeKind::Name:
    return visitName(node, place);
  case NodeKind::Number:
  case NodeKind::String:
  case NodeKind::Ellipsis:
    return;
  case NodeKind::Tuple:
    return visitNext(node.operands, 0, place == Place::Axis ? place : within(place));
  case NodeKind::Slice:
    return visitNext(node.operands, 0, Place::Number);
  case NodeKind::Unary:
  case NodeKind::Binary:
  case NodeKind::Where:
  case NodeKind::Conditional:
    return visitNext(node.operands, 0, within(place));
  case NodeKind::Call:
    return visitCall(node, place);
  case NodeKind::Subscript:
    return visitSubscript(node, place);
  }
}

/// x[…]: before the bracket stands a value if there is one of the name. Beside slices a subscript is a number.
void Resolver::visitSubscript(const Node &node, Place place) {
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

/// All of what a statement says: a name alone is the value, y = m and return m, whatever axes have its name.
void Resolver::visitStatement(const Node &node) {
  if (node.kind == NodeKind::Tuple)
    visitNext(node.operands, 0, Place::Tensor);
  else
    visit(node, Place::Tensor);
}

void Resolver::visitName(const Node &node, Place place) {
  std::string name = node.name.str();
  auto value = names->values.find(name);
  auto axis = names->axes.find(name);
  bool hasValue = value != names->values.end(), isAxis = axis != names->axes.end();
  Symbol position{SymbolKind::Axis, isAxis ? axis->second : StringRef()};
  if (place == Place::AxisName)
    return record(node, position);
  if (!hasValue)
    return record(node, isAxis ? position : Symbol());
  Symbol own = value->second;
  own.isSettled = place == Place::Number || place == Place::Tensor;
  if (!isAxis || place == Place::Number)
    return record(node, own);
  if (own.kind == SymbolKind::Size) // it can be nothing but the size of a dimension
    return record(node, position);
  if (place == Place::Tensor)
    return record(node, own);
  if (place == Place::Position || place == Place::Axis || place == Place::AxisOrSize) {
    if (own.kind == SymbolKind::Operand)
      return record(node, position);
    if (!own.isNumber())
      return record(node, {SymbolKind::Either, own.declared});
  }
  reportContest(node, own);
}

void Resolver::reportContest(const Node &node, const Symbol &own) {
  std::string name = node.name.str();
  record(node, {SymbolKind::Contested, own.declared});
  diagnostics.error(node.text, "'" + name + "' is an axis here, and " + describe(own.kind).str() + " too");
  diagnostics.note("the position along the axis is position(" + name + "), the value is " + name +
                   "[...]; or give one of them another name");
  diagnostics.note(own.declared, "the value is declared here");
}

} // namespace skewer::language
