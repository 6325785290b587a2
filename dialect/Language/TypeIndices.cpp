// Run-time index operands: elements of i32 operands in index expressions, conditions and functions of positions. Also
// the declared values of a kernel's operands: ranges, and distributions of seeded values.
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Typer.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {
using subscript::Expr;
using subscript::kRuntime;

Value Positions::indexOperand(StringRef name, Dimensions dimensions) {
  Value value;
  value.kind = ValueKind::Indices;
  value.dimensions = std::move(dimensions);
  value.name = name.str();
  return value;
}

/// Returns the value of seg[b, i] as a function of positions.
Value Positions::readIndex(StringRef place, const Value &operand, ArrayRef<Expr> subscripts,
                           const std::map<std::string, Axis> &axes) {
  if (subscripts.size() != operand.dimensions.size())
    return error(place, "index operand '" + operand.name + "' has " + std::to_string(operand.dimensions.size()) +
                            " dimensions, found " + std::to_string(subscripts.size()) +
                            (subscripts.size() == 1 ? " index" : " indices"));
  subscript::Domain domain;
  for (const auto &[name, axis] : axes)
    if (axis.size != kRuntime)
      domain[name] = {0, axis.size - 1};
  subscript::Domain ranged = domain;
  kernel.addRanges(ranged);
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Dimension &dimension = operand.dimensions[d];
    auto axis = subscripts[d].isSymbol() ? axes.find(subscripts[d].name()) : axes.end();
    if (dimension.isRuntime()) {
      if (axis != axes.end() && axis->second.runtime == dimension.runtime)
        continue;
      return error(place, "dimension " + std::to_string(d + 1) + " of index operand '" + operand.name +
                              "' has the run-time size '" + dimension.runtime +
                              "', so it is read at an axis of that size, found " + subscript::print(subscripts[d]));
    }
    // A condition may still keep the read inside. If this is not certain now, it is checked again at the end.
    auto proof = subscript::proveWithin(subscripts[d], {0, dimension.size - 1}, ranged);
    if (proof.outcome != subscript::Proof::Proven)
      kernel.lookups.reads.insert({operand.name, place});
  }
  Value value;
  value.kind = ValueKind::Index;
  // An axis of one element stays in the expression, because it is an axis of the tensor that this may become.
  for (const auto &[name, axis] : axes)
    if (axis.size == 1)
      domain.erase(name);
  std::vector<Expr> places = operand.taken;
  places.insert(places.end(), subscripts.begin(), subscripts.end());
  value.index = typer.decisions.simplified(Expr::read(operand.name, std::move(places)), domain);
  value.axes = axes;
  return value;
}

Value Positions::typeIndexRead(const Node &node, const Value &operand) {
  std::vector<Expr> subscripts;
  std::map<std::string, Axis> axes;
  for (size_t k = 1; k < node.operands.size(); ++k) {
    if (node.operands[k]->kind == NodeKind::Slice || node.operands[k]->kind == NodeKind::Ellipsis)
      return error(node.operands[k]->text, "index operand '" + operand.name + "' is read element by element: " +
                                               operand.name + "[i]; it has no slices");
    if (k - 1 < operand.dimensions.size())
      typer.sizes.learnFromRead(*node.operands[k], operand.dimensions[k - 1]);
    Value index = evaluate(*node.operands[k]);
    auto expression =
        typer.reals.asIndex(*node.operands[k], index, "an index is a whole number or an expression of positions");
    if (!index.good() || !expression)
      return {};
    size_t d = subscripts.size();
    subscripts.push_back(d < operand.dimensions.size() ? positionFor(*expression, operand.dimensions[d].size)
                                                       : *expression);
    axes.insert(index.axes.begin(), index.axes.end());
  }
  return readIndex(node.text, operand, subscripts, axes);
}

/// Adds the axes along which index expressions of the text read operands, with their sizes.
void Positions::sizesOfReads(const subscript::Einsum &spec, std::map<std::string, Axis> &axes) {
  for (const auto &operand : spec.operands)
    for (const subscript::Dimension &dimension : operand)
      for (const Expr &read : subscript::readNodes(dimension.index)) {
        const typed::Operand *found = kernel.indexOperand(read.name());
        if (!found)
          continue;
        const Dimensions &dimensions = found->dimensions;
        for (size_t d = 0; d < dimensions.size() && d < read.operands().size(); ++d)
          if (const Expr &at = read.operands()[d]; at.isSymbol())
            axes.insert({at.name(), Axis{at.name(), dimensions[d].size, dimensions[d].runtime}});
      }
}

} // namespace skewer::language
