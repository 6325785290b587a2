// Element-wise operations on the generic path: linalg.generic over flat buffers.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Lowering/GenericKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

bool Kernel::emitElementwise(Operation *op) {
  bool conversion = isa<arith::ExtFOp, arith::TruncFOp>(op);
  if (!conversion && !(op->hasTrait<OpTrait::Elementwise>() && op->hasTrait<OpTrait::SameOperandsAndResultType>() &&
                       isa<arith::ArithDialect, math::MathDialect>(op->getDialect())))
    return fail(op, "the generic path does not know this operation");
  const Storage &result = storage[op->getResult(0)];
  // The buffers hold as many elements as the result; a caller's buffer may be longer than its argument.
  Value count = elements(result.shape);
  auto window = [&](const Storage &tensor) -> Value {
    auto layout = StridedLayoutAttr::get(b.getContext(), 0, {1});
    auto type = MemRefType::get({ShapedType::kDynamic}, tensor.element, layout);
    return memref::ReinterpretCastOp::create(b, type, tensor.memory, OpFoldResult(b.getIndexAttr(0)),
                                             ArrayRef<OpFoldResult>{count}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  };
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    if (!storage[operand].number)
      inputs.push_back(window(storage[operand]));
  SmallVector<AffineMap> maps(inputs.size() + 1, AffineMap::getMultiDimIdentityMap(1, b.getContext()));
  linalg::GenericOp::create(
      b, b.getLoc(), inputs, ValueRange{window(result)}, maps,
      ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        SmallVector<Value> scalars;
        size_t next = 0;
        for (Value operand : op->getOperands())
          scalars.push_back(storage[operand].number ? real(*storage[operand].number) : widen(arguments[next++]));
        Value computed = scalars[0];
        if (!conversion) {
          OperationState state(b.getLoc(), op->getName());
          state.addOperands(scalars);
          state.addTypes(b.getF32Type());
          state.addAttributes(op->getAttrs());
          computed = b.create(state)->getResult(0);
        }
        // A weight that a mask took away stays 0, whatever it is scaled by.
        if (isa<arith::MulFOp, arith::DivFOp>(op))
          for (auto [operand, scalar] : llvm::zip(op->getOperands(), scalars))
            if (storage[operand].masked && (isa<arith::MulFOp>(op) || operand == op->getOperand(0))) {
              Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, scalar, real(0));
              computed = arith::SelectOp::create(b, none, real(0), computed);
            }
        linalg::YieldOp::create(b, narrow(computed, result.element));
      });
  return true;
}

void Kernel::copy(const Storage &from, const Storage &to) {
  loop(index(0), elements(to.shape), 1, [&](Value at) { store(load(from, at), to, at); });
}
