// Walks from an element to the tensors in memory, the positions and the guards that it depends on.
#include "passes/Fusion/Dependences.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/Elementwise.h"
#include "passes/Fusion/Views.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

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
    auto axes = sizes ? axesAt(*dimensions, at, *sizes) : std::nullopt;
    if (!axes)
      return false;
    expressions.push_back(simplify(substitute(*expression, *axes), domain));
    return true;
  }
  if (auto map = mapOf(op)) {
    attn::IndexMap here = mapAt(*map, at);
    if (!map->inside.isConstant(1))
      expressions.push_back(simplify(here.inside, domain));
    return isa<IndexMapOpInterface, EinsumOp>(op) && collectMoved(op->getOperand(0), {here.subscripts}, {});
  }
  if (auto einsum = dyn_cast_if_present<EinsumOp>(op)) {
    ResolvedEinsum resolved = resolve(einsum);
    bool isProduct = resolved.contracted.empty() && resolved.spec.result;
    if (auto here = isProduct ? axesAt(*resolved.spec.result, at, resolved.sizes) : std::nullopt) {
      if (resolved.guard)
        expressions.push_back(simplify(substitute(*resolved.guard, *here), domain));
      return collectMoved(einsum.getInputs(), resolved.subscripts, *here);
    }
  }
  expressions.insert(expressions.end(), at.begin(), at.end());
  return true;
}
