// Walks from an element to the tensors in memory, the positions and the guards that it depends on.
#include "passes/Fusion/Dependences.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/Elementwise.h"
#include "passes/Fusion/Views.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Computes the axes of a spec's dimensions at the indices `at`; returns false if a size that is needed is not known.
static bool axesAt(const Dimensions &dimensions, const AxisSizes &sizes, const std::vector<Expr> &at,
                   Substitution &axes) {
  if (dimensions.size() != at.size())
    return false;
  for (auto [dimension, index] : llvm::zip(dimensions, at)) {
    auto parts = splitProduct(index, dimension.axes, sizes);
    if (!parts)
      return false;
    for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
      axes[axis] = part;
  }
  return true;
}

bool Dependences::collectMoved(ValueRange operands, ArrayRef<std::vector<Expr>> subscripts, const Substitution &here) {
  for (auto [operand, own] : llvm::zip(operands, subscripts)) {
    std::vector<Expr> below;
    for (const Expr &subscript : own)
      below.push_back(simplify(substitute(subscript, here), domain));
    if (!collect(operand, below))
      return false;
  }
  return true;
}

bool Dependences::collect(Value tensor, const std::vector<Expr> &at) {
  Operation *op = tensor.getDefiningOp();
  if (++visits > kMostVisits)
    return false;
  if (splatValue(tensor))
    return true;
  if (op && isElementwise(op)) {
    computed.push_back(op);
    return llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand, at); });
  }
  if (auto position = dyn_cast_if_present<PositionOp>(op)) {
    auto dimensions = parseDimensions(std::string_view(position.getAxes()));
    auto expression = parse(std::string_view(position.getExpression()));
    if (!dimensions || !expression)
      return false;
    Einsum spec;
    spec.operands = {*dimensions};
    auto sizes = resolveSizes(spec, {shapeOf(tensor)}, sizesFrom(position.getSizesAttr()));
    Substitution axes;
    if (!sizes || !axesAt(*dimensions, *sizes, at, axes))
      return false;
    expressions.push_back(simplify(substitute(*expression, axes), domain));
    return true;
  }
  if (auto map = mapOf(op)) {
    Substitution here;
    for (auto [k, index] : llvm::enumerate(at))
      here["d" + std::to_string(k)] = index;
    if (!map->inside.isConstant(1))
      expressions.push_back(simplify(substitute(map->inside, here), domain));
    if (isa<IndexMapOpInterface, EinsumOp>(op))
      return collectMoved(op->getOperand(0), {map->subscripts}, here);
    return false;
  }
  if (auto einsum = dyn_cast_if_present<EinsumOp>(op)) {
    ResolvedEinsum resolved = resolve(einsum);
    Substitution here;
    if (resolved.contracted.empty() && resolved.spec.result &&
        axesAt(*resolved.spec.result, resolved.sizes, at, here)) {
      if (resolved.guard)
        expressions.push_back(simplify(substitute(*resolved.guard, here), domain));
      return collectMoved(einsum.getInputs(), resolved.subscripts, here);
    }
  }
  expressions.insert(expressions.end(), at.begin(), at.end());
  return true;
}
