// Opens the memory of tensors in a phase: arguments, outputs, buffers of the workspace, and tables of constants. Part
// of Tensors.h.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Generic/Tensors.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

/// Adds a table of numbers to the module; returns its name.
static std::string globalOf(ModuleOp module, Location location, DenseFPElementsAttr values, const std::string &kernel) {
  std::string name = kernel + "_constant";
  for (int n = 0; module.lookupSymbol(name); ++n)
    name = kernel + "_constant_" + std::to_string(n);
  auto type = RankedTensorType::get({values.getNumElements()}, values.getElementType());
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  memref::GlobalOp::create(builder, location, name, builder.getStringAttr("private"),
                           MemRefType::get(type.getShape(), type.getElementType()), values.reshape(type),
                           /*constant=*/true, builder.getI64IntegerAttr(64));
  return name;
}

Value Tensors::memoryIn(const PhaseFunction &opened, Value tensor) {
  Value owner = memoryOf(tensor);
  if (auto argument = dyn_cast<BlockArgument>(owner))
    return opened.inputs[argument.getArgNumber()];
  const Storage &described = storage[owner];
  auto flat = MemRefType::get({ShapedType::kDynamic}, described.element);
  if (auto constant = owner.getDefiningOp<arith::ConstantOp>()) {
    auto values = cast<DenseFPElementsAttr>(constant.getValue());
    std::string &name = globals[constant];
    if (name.empty())
      name = globalOf(module, constant.getLoc(), values, plan.name);
    Value memory = memref::GetGlobalOp::create(b, MemRefType::get({values.getNumElements()}, described.element), name);
    return memref::CastOp::create(b, flat, memory);
  }
  if (!described.place)
    return opened.outputs[outputOf.lookup(owner)];
  return memref::ViewOp::create(b, flat, memoryAt(opened, *described.place), code.address(*described.place),
                                ValueRange{code.count(described.shape)});
}

void Tensors::openMemory(const Stage &stage, const PhaseFunction &opened) {
  for (auto [number, name] : llvm::enumerate(plan.sizes))
    code.sizes[name] = opened.sizes[number];
  llvm::DenseMap<Value, Value> memory; // the memory of each owner
  for (Value read : readsOf(stage)) {
    Storage &tensor = storage[read];
    if (tensor.number)
      continue;
    Value &owner = memory[memoryOf(read)];
    if (!owner)
      owner = memoryIn(opened, read);
    tensor.memory = owner;
  }
  for (Value made : resultsOf(stage)) {
    Value &owner = memory[memoryOf(made)];
    if (!owner)
      owner = memoryIn(opened, made);
    storage[made].memory = owner;
  }
}

SmallVector<Value> Tensors::readsOf(const Stage &stage) {
  SmallVector<Value> reads;
  auto read = [&](Value tensor) {
    if (storage.count(tensor) && isStored(tensor) && !llvm::is_contained(reads, tensor))
      reads.push_back(tensor);
  };
  Operation *op = stage.result.getDefiningOp();
  op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), read); });
  if (stage.finishes)
    stage.finishes->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), read); });
  for (Operation *folded : stage.folded)
    llvm::for_each(folded->getOperands(), read);
  return reads;
}
