// Turns flat memrefs into pointers, and finds the item of each thread, warp or block.
#include "passes/Gpu/GpuPhase.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/Memory.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

/// Returns the constant of the GPU module with the values of a constant of the module. Equal constants become one: for
/// example, tables of angles by which queries and keys are turned.
LLVM::GlobalOp constantIn(GpuBuilder &b, mlir::gpu::GPUModuleOp gpuModule, memref::GlobalOp source) {
  auto values = cast<DenseElementsAttr>(*source.getInitialValue());
  for (auto known : gpuModule.getOps<LLVM::GlobalOp>())
    if (known.getValueOrNull() == values)
      return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(gpuModule.getBody());
  auto type = LLVM::LLVMArrayType::get(values.getElementType(), uint64_t(values.getNumElements()));
  return LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, source.getSymName(), values,
                                /*alignment=*/16, kGlobalSpace);
}

class Rewriter {
public:
  Rewriter(GpuBuilder &b, ModuleOp module, mlir::gpu::GPUModuleOp gpuModule)
      : b(b), module(module), gpuModule(gpuModule) {}

  /// Pointers to the memory of the phase's arguments.
  llvm::DenseMap<Value, Value> pointers;
  /// Numbers of the launch that the phase reads as memory of one i32.
  llvm::DenseMap<Value, Value> numbers;

  void rewrite(LLVM::LLVMFuncOp function) {
    SmallVector<Operation *> operations;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool isPointer = isa<UnrealizedConversionCastOp>(op) && isa<MemRefType>(op->getOperand(0).getType());
      if (isPointer || isa<memref::MemRefDialect>(op->getDialect()))
        operations.push_back(op);
    });
    for (Operation *op : operations) {
      b.setInsertionPoint(op);
      b.setLoc(op->getLoc());
      if (auto loaded = dyn_cast<memref::LoadOp>(op))
        loaded.getResult().replaceAllUsesWith(read(loaded));
      else if (auto stored = dyn_cast<memref::StoreOp>(op))
        storeAt(b, stored.getValue(), pointers.lookup(stored.getMemref()), b.toI64(stored.getIndices()[0]));
      else if (auto view = dyn_cast<memref::ViewOp>(op))
        pointers[view] = globalAt(b, pointers.lookup(view.getSource()), b.toI64(view.getByteShift()), b.getI8Type());
      else if (auto cast = dyn_cast<memref::CastOp>(op))
        pointers[cast] = pointers.lookup(cast.getSource());
      else if (auto global = dyn_cast<memref::GetGlobalOp>(op))
        pointers[global] = constant(global);
      else if (isa<UnrealizedConversionCastOp>(op))
        op->getResult(0).replaceAllUsesWith(pointers.lookup(op->getOperand(0)));
    }
    for (Operation *op : llvm::reverse(operations))
      op->erase();
  }

private:
  Value constant(memref::GetGlobalOp op) {
    auto source = module.lookupSymbol<memref::GlobalOp>(op.getName());
    return LLVM::AddressOfOp::create(b, constantIn(b, gpuModule, source));
  }
  Value read(memref::LoadOp op) {
    if (Value number = numbers.lookup(op.getMemref()))
      return number;
    return loadAt(b, pointers.lookup(op.getMemref()), b.toI64(op.getIndices()[0]), op.getType());
  }

  GpuBuilder &b;
  ModuleOp module;
  mlir::gpu::GPUModuleOp gpuModule;
};

} // namespace

GpuLaunch skewer::gpu::kernelOfPhase(func::FuncOp function, const Phase &phase, mlir::gpu::GPUModuleOp gpuModule,
                                     const KernelPlan &plan, std::string name, ItemOf by, int64_t threads) {
  GpuBuilder b(function.getLoc(), function.getContext());
  LLVM::LLVMFuncOp kernel = createKernel(b, function.getLoc(), gpuModule, plan, name, threads);
  Block *entry = &kernel.getBody().front();
  b.setInsertionPointToStart(entry);
  KernelArguments arguments = argumentsOf(kernel, plan);

  // A block has one item, or one for each of its threads or warps; the last block may have fewer.
  int64_t each = by == ItemOf::Block ? 1 : by == ItemOf::Warp ? threads / 32 : threads;
  int64_t fixed = phase.items.factors.empty() ? phase.items.fixed : phase.items.scaled;
  Value total = b.i64(fixed);
  for (const std::string &factor : phase.items.factors)
    total = b.mul(total, arguments.size(b, factor));
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type()), block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  Value number = by == ItemOf::Block ? b.i32(0) : by == ItemOf::Warp ? b.shiftRight(thread, 5) : thread;
  Value item = b.add(b.mul(b.toI64(block), each), b.toI64(number));
  Value begin = b.toIndex(b.minimum(item, total)), end = b.toIndex(b.minimum(b.add(item, 1), total));

  Block &body = function.getBody().front();
  size_t inputs = plan.inputs.size(), outputs = plan.outputs.size();
  ValueRange all = body.getArguments();
  Rewriter rewriter(b, function->getParentOfType<ModuleOp>(), gpuModule);
  IRMapping mapping;
  auto give = [&](Value memory, Value pointer) { // until the rewrite, a cast stands for the memory
    Value standIn = UnrealizedConversionCastOp::create(b, memory.getType(), pointer).getResult(0);
    mapping.map(memory, standIn);
    return standIn;
  };
  SmallVector<Operation *> standIns;
  for (size_t k = 0; k < inputs; ++k) {
    bool isNumber = !plan.inputs[k].isTensor();
    Value standIn = give(all[k], isNumber ? arguments.number(plan.inputs[k]) : arguments.inputs[k]);
    if (isNumber)
      rewriter.numbers[standIn] = arith::TruncIOp::create(b, b.getI32Type(), arguments.number(plan.inputs[k]));
    else
      rewriter.pointers[standIn] = arguments.inputs[k];
    standIns.push_back(standIn.getDefiningOp());
  }
  auto givePointer = [&](Value memory, Value pointer) {
    Value standIn = give(memory, pointer);
    rewriter.pointers[standIn] = pointer;
    standIns.push_back(standIn.getDefiningOp());
  };
  for (size_t k = 0; k < outputs; ++k)
    givePointer(all[inputs + k], arguments.outputs[k]);
  size_t next = inputs + outputs;
  for (auto [k, size] : llvm::enumerate(plan.sizes))
    mapping.map(all[next + k], b.toIndex(arguments.sizes.at(size)));
  next += plan.sizes.size();
  givePointer(all[next], arguments.workspace);
  if (arguments.prepared)
    givePointer(all[next + 2], arguments.prepared);
  mapping.map(all[all.size() - 2], begin);
  mapping.map(all.back(), end);
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  LLVM::ReturnOp::create(b, ValueRange());
  rewriter.rewrite(kernel);
  for (Operation *standIn : standIns)
    standIn->erase();
  function.erase();

  GpuLaunch launch;
  launch.kernel = std::move(name);
  launch.title = phase.title;
  launch.threads = threads;
  launch.blocks = {0, (fixed + each - 1) / each, phase.items.factors};
  return launch;
}

Value skewer::gpu::pointerTo(GpuBuilder &b, Value memory) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
  return UnrealizedConversionCastOp::create(b, pointer, memory).getResult(0);
}
