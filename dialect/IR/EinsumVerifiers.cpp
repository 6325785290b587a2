// Verifiers of the einsum form: einsum, softmax, position.
#include "dialect/IR/Verification.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

static std::set<std::string> namesOf(const std::vector<std::string> &axes) { return {axes.begin(), axes.end()}; }

/// Returns a list of dimensions as a spec of one operand.
static Einsum asSpec(const Dimensions &dimensions) {
  Einsum spec;
  spec.operands = {dimensions};
  return spec;
}

/// Checks the attributes that einsum, softmax and position share: shapes, `sizes` and index operands.
template <typename Op> static LogicalResult verifyAttributes(Op op) {
  return success(succeeded(verifyShapes(op)) && succeeded(verifySizes(op, op.getSizesAttr())) &&
                 succeeded(verifyIndices(op, op.getIndexNamesAttr(), op.getIndices())));
}

LogicalResult EinsumOp::verify() {
  static const SubscriptConstraints constraints = {"einsum_c1", "einsum_c2", "einsum_c3", "einsum_c5"};
  if (failed(verifyAttributes(*this)))
    return failure();
  auto spec = verifySpecWithResult(*this, getSpec(), constraints.parses);
  if (!spec)
    return failure();
  auto shapes = shapesOf(getInputs());
  auto sizes = verifyOperands(*this, *spec, shapes, sizesFrom(getSizesAttr()), constraints);
  if (!sizes || failed(verifyResult(*this, *spec->result, *sizes, getResult().getType(), "einsum_c4")))
    return failure();
  std::optional<Expr> guard;
  if (getGuard()) {
    guard = verifyExpression(*this, "guard", *getGuard(), namesOf(spec->axes()), *sizes);
    if (!guard)
      return failure();
  }
  return verifyReads(*this, *spec, shapes, *sizes, guard, constraints);
}

/// Checks the dimensions and the mask of a softmax or a logsumexp. Sets `place` to the dimension that it reduces over.
template <typename Op>
static LogicalResult verifyRows(Op op, const SubscriptConstraints &constraints, StringRef isOver,
                                Dimensions &dimensions, AxisSizes &found, size_t &place) {
  if (failed(verifyAttributes(op)))
    return failure();
  auto axes = verifyDimensions(op, "axes", op.getAxes(), constraints.parses);
  if (!axes)
    return failure();
  Einsum spec = asSpec(*axes);
  auto sizes = verifyOperands(op, spec, shapesOf(op.getInput()), sizesFrom(op.getSizesAttr()), constraints);
  if (!sizes)
    return failure();
  auto over = verifyDimensions(op, "over", op.getOver(), isOver);
  if (!over)
    return failure();
  // "jy jx" and "(jy jx)" mean the same.
  std::vector<std::string> overAxes;
  for (const Dimension &dimension : *over)
    overAxes.insert(overAxes.end(), dimension.axes.begin(), dimension.axes.end());
  auto which = llvm::find_if(*axes, [&](const Dimension &d) { return d.axes == overAxes; });
  if (overAxes.empty() || which == axes->end())
    return op.emitOpError() << "over \"" << op.getOver() << "\" is not one of the dimensions \"" << op.getAxes()
                            << "\" (" << isOver << ")";
  place = static_cast<size_t>(which - axes->begin());
  if (op.getMask() && !verifyExpression(op, "mask", *op.getMask(), namesOf(spec.axes()), *sizes))
    return failure();
  dimensions = std::move(*axes);
  found = std::move(*sizes);
  return success();
}

LogicalResult SoftmaxOp::verify() {
  static const SubscriptConstraints constraints = {"softmax_c1", "softmax_c1", "softmax_c2", "softmax_c2"};
  Dimensions axes;
  AxisSizes sizes;
  size_t place = 0;
  return verifyRows(*this, constraints, "softmax_c3", axes, sizes, place);
}

LogicalResult LogSumExpOp::verify() {
  static const SubscriptConstraints constraints = {"logsumexp_c1", "logsumexp_c1", "logsumexp_c2", "logsumexp_c2"};
  Dimensions axes;
  AxisSizes sizes;
  size_t place = 0;
  if (failed(verifyRows(*this, constraints, "logsumexp_c3", axes, sizes, place)))
    return failure();
  axes.erase(axes.begin() + place);
  return verifyResult(*this, axes, sizes, getResult().getType(), "logsumexp_c4");
}

LogicalResult PositionOp::verify() {
  static const SubscriptConstraints constraints = {"position_c1", "position_c1", "position_c2", "position_c2"};
  if (failed(verifyAttributes(*this)))
    return failure();
  auto axes = verifyDimensions(*this, "axes", getAxes(), constraints.parses);
  if (!axes)
    return failure();
  std::vector<int64_t> shape = shapeOf(getResult());
  if (shape.size() != axes->size())
    return emitOpError() << "result has " << shape.size() << " dimensions, but the axes are \"" << getAxes()
                         << "\" (position_c1)";
  // The result's shape takes the place of an operand's shape: it gives the axes their sizes.
  Einsum spec = asSpec(*axes);
  auto sizes = resolveSizes(spec, {shape}, sizesFrom(getSizesAttr()));
  if (!sizes)
    return emitOpError() << sizes.error().message << " (position_c2)";
  if (failed(verifyResult(*this, *axes, *sizes, getResult().getType(), "position_c2")))
    return failure();
  return success(verifyExpression(*this, "expression", getExpression(), namesOf(spec.axes()), *sizes).has_value());
}
