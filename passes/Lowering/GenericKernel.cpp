// The generic path from end to end: signature, buffers, operation after operation.
#include "passes/Lowering/GenericKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

Kernel::Kernel(ModuleOp module, func::FuncOp function)
    : module(module), source(function), b(function.getLoc(), function.getContext()), plan(signatureOf(function)) {}

bool Kernel::fail(Operation *op, const Twine &why) {
  op->emitError() << why;
  return false;
}

/// Integers stand for sizes only, which are known by name; numbers alone are operands of splats.
static bool isScalar(Operation &op) {
  return op.getNumResults() == 1 && !isa<ShapedType>(op.getResult(0).getType()) &&
         isa<arith::ConstantOp, tensor::DimOp>(op);
}

bool Kernel::emit() {
  Block &block = source.getBody().front();
  auto end = cast<func::ReturnOp>(block.getTerminator());
  if (end.getNumOperands() != 1 || !isa<RankedTensorType>(end.getOperand(0).getType()))
    return fail(source, "a kernel has one result, a tensor");
  auto flatType = [&](Type element) { return MemRefType::get({ShapedType::kDynamic}, element); };
  SmallVector<Type> types;
  for (Value argument : block.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !(type.getElementType().isF32() || type.getElementType().isF16() || type.getElementType().isBF16()))
      return fail(source, "the generic path takes tensors of f32, f16 and bf16");
    types.push_back(flatType(type.getElementType()));
  }
  types.push_back(flatType(cast<RankedTensorType>(end.getOperand(0).getType()).getElementType()));
  types.append(plan.sizes.size(), b.getIndexType());
  types.append(2, flatType(b.getI8Type()));
  types.append(2, b.getIndexType());

  b.setInsertionPoint(source);
  auto phase = func::FuncOp::create(b, plan.name + "_compute", b.getFunctionType(types, {}));
  Block *body = phase.addEntryBlock();
  b.setInsertionPointToStart(body);
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(body);
  size_t next = block.getNumArguments();
  output = body->getArgument(next++);
  for (const std::string &size : plan.sizes)
    sizes[size] = body->getArgument(next++);
  shared = body->getArgument(next++);
  Value first = body->getArgument(next + 1), past = body->getArgument(next + 2);

  for (auto [argument, described] : llvm::zip(block.getArguments(), plan.inputs)) {
    Storage tensor;
    tensor.memory = body->getArgument(argument.getArgNumber());
    tensor.shape = described.shape;
    tensor.element = cast<RankedTensorType>(argument.getType()).getElementType();
    storage[argument] = std::move(tensor);
  }
  for (Operation &op : block) {
    if (isa<func::ReturnOp>(op) || isScalar(op))
      continue;
    if (op.getNumResults() != 1)
      return fail(&op, "the generic path does not know this operation");
    if (!describe(&op))
      return false;
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      Storage row;
      row.element = b.getF32Type();
      row.shape = {{"", attn::scoreSpace(attention).keys()}};
      scoreRows[&op] = std::move(row);
    }
  }
  Storage result;
  result.memory = output;
  result.shape = plan.output.shape;
  result.element = cast<RankedTensorType>(end.getOperand(0).getType()).getElementType();
  // The last operation writes where the result goes, unless it is an argument, a constant or wanted in another form.
  Operation *producer = end.getOperand(0).getDefiningOp();
  if (producer && !isa<arith::ConstantOp, tensor::SplatOp>(producer))
    last = producer;

  // One item does everything: a range without it does nothing.
  bool good = true;
  loop(first, past, 1, [&](Value) {
    good = planWorkspace();
    for (Operation &op : block) {
      if (!good || isa<func::ReturnOp>(op) || isScalar(op))
        continue;
      b.setLoc(op.getLoc());
      good = emit(&op);
      if (good && !emissionFailure.empty())
        good = fail(&op, emissionFailure);
    }
    if (good && !last)
      copy(storage[end.getOperand(0)], result);
  });
  if (!good)
    return false;
  plan.phases = {{phase.getSymName().str(), "compute", {1, 0, {}}}};
  attachPlan(module, plan);
  source.erase();
  return true;
}

/// A table of numbers in the module, as flat memory.
static Value constantMemory(ImplicitLocOpBuilder &b, ModuleOp module, DenseFPElementsAttr values,
                            const std::string &name) {
  auto type = MemRefType::get({values.getNumElements()}, values.getElementType());
  auto flat = values.reshape(RankedTensorType::get({values.getNumElements()}, values.getElementType()));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(b, name, b.getStringAttr("private"), type, flat, /*constant=*/true,
                             b.getI64IntegerAttr(64));
  }
  Value memory = memref::GetGlobalOp::create(b, type, name);
  return memref::CastOp::create(b, MemRefType::get({ShapedType::kDynamic}, values.getElementType()), memory);
}

bool Kernel::emit(Operation *op) {
  Storage &result = storage[op->getResult(0)];
  if (result.number)
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](attn::EinsumOp o) { return emitEinsum(o); })
      .Case([&](attn::SoftmaxOp o) { return emitSoftmax(o); })
      .Case([&](attn::PositionOp o) { return emitPosition(o); })
      .Case([&](attn::AttentionOp o) { return emitAttention(o); })
      .Case([&](attn::IndexMapOpInterface o) { return emitIndexMap(o); })
      .Case([&](arith::ConstantOp o) {
        std::string name = plan.name + "_constant";
        for (int n = 0; module.lookupSymbol(name); ++n)
          name = plan.name + "_constant_" + std::to_string(n);
        result.memory = constantMemory(b, module, cast<DenseFPElementsAttr>(o.getValue()), name);
        return true;
      })
      .Default([&](Operation *o) { return emitElementwise(o); });
}
