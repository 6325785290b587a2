// Functions along axes other than plain sums: max(x, axis = j), min(x, axis = j), cumsum(x, j).
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::AxisSizes;
using subscript::Expr;

/// Returns the largest or the least element along axes.
Value Reductions::typeExtremum(const Node &node) {
  std::string name = node.name.str();
  if (node.operands.size() != 1 ||
      (!typer.expressions.keyword(node, "axis") && !typer.expressions.keyword(node, "dim"))) {
    error(node.text, "'" + name + "' takes two values, or one tensor and the axis that it runs along");
    diagnostics.note("usage: " + name + "(a, b), or " + name + "(x, axis = j), " + name + "(x, axis = -1)");
    return {};
  }
  auto along = alongAxes(node, name + "(x, axis = j), " + name + "(x, axis = -1), " + name + "(x, axis = (h, d))",
                         "compared along");
  if (!along)
    return {};
  WithoutAxes left = withoutAxes(*along);
  typed::Extremum extremum{name == "min", subscript::print(left.spec), left.given};
  typed::Tensor *tensor = append(node, std::move(extremum), along->operand.tensor, left.kept);
  Value result = tensorValue(tensor, std::move(left.kept));
  result.order = along->operand.order;
  return result;
}

/// Warns about max(x, j) if j is an axis of x: it takes the larger of an element and its position, which is seldom
/// meant.
void Reductions::warnOfExtremum(const Node &node, const Value &left, const Value &right) {
  if (!left.is(ValueKind::Tensor) || !right.is(ValueKind::Index) || node.operands[1]->kind != NodeKind::Name)
    return;
  std::string axis = node.operands[1]->name.str();
  if (llvm::none_of(left.dimensions, [&](const Dimension &d) {
        return llvm::any_of(d.namings, [&](const Naming &naming) {
          return llvm::any_of(naming, [&](const Axis &own) { return own.name == axis; });
        });
      }))
    return;
  diagnostics.warning(node.text, "this compares each element with its position along '" + axis + "'");
  diagnostics.note("the " + std::string(node.name == "max" ? "largest" : "least") + " element along the axis is " +
                   node.name.str() + "(x, axis = " + axis + ")");
}

/// Returns the sum of the elements up to each one along an axis, as an einsum with a condition.
Value Reductions::typeCumulativeSum(const Node &node) {
  auto along = alongAxes(node, "cumsum(x, j) along an axis, cumsum(x, -1) along a dimension", "summed along");
  if (!along)
    return {};
  Dimensions &dimensions = along->operand.dimensions;
  if (along->names.size() + llvm::count(along->whole, true) != 1) {
    error(node.text, "'cumsum' runs along one axis");
    diagnostics.note("along several, one after the other: cumsum(cumsum(x, h), w)");
    return {};
  }
  std::vector<Naming> lone = loneNamings(dimensions);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (along->naming[d])
      lone[d] = dimensions[d].namings[*along->naming[d]];
    else if (along->whole[d]) // a dimension by its place: one axis, even if it is a product
      lone[d] = {{"along'", dimensions[d].size, dimensions[d].runtime}};
  }
  const std::string before = "before'"; // no axis of a specification has a quotation mark
  subscript::Einsum spec;
  spec.operands.emplace_back();
  spec.result.emplace();
  AxisSizes sizes;
  std::string axis;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    subscript::Dimension from, to;
    for (const Axis &own : lone[d]) {
      bool isAlong = along->whole[d] || (along->naming[d] && along->names.count(own.name));
      if (isAlong && dimensions[d].isRuntime()) {
        error(node.text, "'cumsum' runs along an axis whose size is known at compile time, and '" +
                             dimensions[d].runtime + "' is known at run time only");
        return {};
      }
      to.axes.push_back(own.name);
      from.axes.push_back(isAlong ? before : own.name);
      if (isAlong)
        axis = own.name;
      if (isAlong || lone[d].size() > 1)
        sizes[own.name] = own.size;
      if (isAlong && lone[d].size() > 1)
        sizes[before] = own.size;
    }
    spec.operands[0].push_back(std::move(from));
    spec.result->push_back(std::move(to));
  }
  Expr guard = lessEqual(Expr::symbol(before), Expr::symbol(axis));
  Value result = along->operand;
  result.tensor = append(node, typed::Einsum(subscript::print(spec), sizes, guard), result.tensor, dimensions);
  return result;
}

} // namespace skewer::language
