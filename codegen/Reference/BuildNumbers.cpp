// Builds nodes for the numbers of a function: constants, sizes, and tensors of one number. Part of NodeBuilder.
#include "codegen/Reference/Builder.h"
#include "codegen/Reference/ElementNodes.h"

using namespace mlir;

namespace skewer::reference {

double toDouble(APFloat value) {
  bool lost;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

Node *NodeBuilder::constant(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return own(std::make_unique<SplatNode>(std::vector<int64_t>(), toDouble(number.getValue()), failure));
  auto dense = dyn_cast<DenseFPElementsAttr>(op.getValue());
  auto shape = shapeOf(op.getResult());
  if (!dense || !shape)
    return fail(op, "only tensors of floating point numbers are interpreted");
  if (dense.isSplat())
    return own(std::make_unique<SplatNode>(*shape, toDouble(dense.getSplatValue<APFloat>()), failure));
  std::vector<double> values;
  for (const APFloat &value : dense.getValues<APFloat>())
    values.push_back(toDouble(value));
  return own(std::make_unique<StoredNode>(*shape, std::move(values), failure));
}

/// Evaluates an operation whose result is a size: a constant, or a dimension of a tensor.
bool NodeBuilder::integer(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto value = dyn_cast<IntegerAttr>(constant.getValue());
    if (value)
      integers[op->getResult(0)] = value.getInt();
    return value != nullptr;
  }
  auto size = dyn_cast<tensor::DimOp>(op);
  if (!size || !known.lookup(size.getSource()) || !integers.count(size.getIndex()))
    return false;
  const std::vector<int64_t> &shape = known.lookup(size.getSource())->shape;
  int64_t dimension = integers[size.getIndex()];
  if (dimension < 0 || dimension >= static_cast<int64_t>(shape.size()))
    return false;
  integers[op->getResult(0)] = shape[dimension];
  return true;
}

Node *NodeBuilder::splat(tensor::SplatOp op) {
  std::vector<int64_t> shape(op.getType().getShape().begin(), op.getType().getShape().end());
  size_t next = 0;
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size)) {
      if (next == op.getDynamicSizes().size() || !integers.count(op.getDynamicSizes()[next]))
        return fail(op, "a run-time size is not known");
      size = integers[op.getDynamicSizes()[next++]];
    }
  Node *number = known.lookup(op.getInput());
  return own(std::make_unique<SplatNode>(shape, number->at(nullptr), failure));
}

} // namespace skewer::reference
