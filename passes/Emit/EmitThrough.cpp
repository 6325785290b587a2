// Clones the function of the scores operation by operation, with the type of the sums instead of f32.
#include "passes/Emit/EmitThrough.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

Value skewer::emitThrough(ImplicitLocOpBuilder &b, Region &through, ValueRange sums,
                          llvm::function_ref<Value(Operation *, ValueRange)> own) {
  if (through.empty())
    return sums.front();
  Block &block = through.front();
  auto vector = dyn_cast<VectorType>(sums.front().getType());
  auto real = cast<FloatType>(getElementTypeOrSelf(sums.front().getType()));
  auto typeOf = [&](Type number) -> Type {
    Type element = number.isF32() ? real : number;
    return vector ? VectorType::get(vector.getShape(), element) : element;
  };
  IRMapping values;
  values.map(block.getArguments(), sums);
  auto constantOf = [&](arith::ConstantOp constant) -> Value {
    double value = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
    TypedAttr number = FloatAttr::get(real, value);
    if (vector)
      number = DenseElementsAttr::get(cast<ShapedType>(typeOf(constant.getType())), Attribute(number));
    return arith::ConstantOp::create(b, number);
  };
  auto operandOf = [&](Value operand) -> Value {
    if (!values.contains(operand)) // a constant outside the region
      values.map(operand, constantOf(operand.getDefiningOp<arith::ConstantOp>()));
    return values.lookup(operand);
  };
  for (Operation &op : block.without_terminator()) {
    Value result;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      result = constantOf(constant);
    } else {
      SmallVector<Value> operands;
      for (Value operand : op.getOperands())
        operands.push_back(operandOf(operand));
      result = own ? own(&op, operands) : Value();
      if (!result) {
        Operation *one = b.clone(op, values);
        one->setLoc(b.getLoc());
        one->getResult(0).setType(typeOf(op.getResult(0).getType()));
        result = one->getResult(0);
      }
    }
    values.map(op.getResult(0), result);
  }
  return operandOf(block.getTerminator()->getOperand(0));
}
