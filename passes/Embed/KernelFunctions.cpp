#include "passes/Embed/KernelFunctions.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/KernelPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace skewer;

static bool isOperand(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && elementNamedBy(tensor.getElementType());
}

static bool isResult(Type type) {
  return isOperand(type) && mayBeResult(elementTypeOf(type));
}

bool skewer::mayBeInKernel(Operation *op) {
  if (isa<attn::IndexOp>(op)) // a kernel's index operands are its arguments
    return false;
  if (isa<attn::AttnDialect>(op->getDialect()) || isa<tensor::SplatOp, tensor::DimOp, arith::ConstantOp>(op))
    return true;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         isOperand(op->getResult(0).getType());
}

bool skewer::isKernel(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock() || function.getNumResults() == 0 ||
      !llvm::all_of(function.getArgumentTypes(), isOperand) || !llvm::all_of(function.getResultTypes(), isResult))
    return false;
  bool any = false;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!mayBeInKernel(&op))
      return false;
    any |= isa<attn::AttnDialect>(op.getDialect());
  }
  return any;
}
