// The phases of stages: their functions, the memory that they access, and their work items.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Generic/Kernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

/// The number of work items of a phase, if the leading axes give that many: enough to keep every worker busy.
static constexpr int64_t kItems = 64;

void Kernel::beginPhase(const Stage &stage, StringRef title) {
  phase = createPhase(b, module, plan, title);
  plan.phases.push_back({phase.function.getSymName().str(), title.str(), {1, 0, {}}});
  openMemory(stage, phase);
}

Value Kernel::address(const Place &place) {
  if (!place.scaled)
    return index(place.offset);
  Value factor = index(place.offset);
  for (const std::string &name : plan.sharedBytes.factors)
    factor = b.createOrFold<arith::MulIOp>(factor, sizes.at(name));
  return b.createOrFold<arith::AddIOp>(index(plan.sharedBytes.fixed), factor);
}

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

Value Kernel::memoryIn(const PhaseFunction &opened, Value tensor) {
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
  return memref::ViewOp::create(b, flat, memoryAt(opened, *described.place), address(*described.place),
                                ValueRange{elements(described.shape)});
}

void Kernel::openMemory(const Stage &stage, const PhaseFunction &opened) {
  for (auto [number, name] : llvm::enumerate(plan.sizes))
    sizes[name] = opened.sizes[number];
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

void Kernel::items(ArrayRef<Axis> axes, size_t most, Symbols &symbols,
                   const std::function<void(ArrayRef<Axis>)> &body) {
  SizeExpression count;
  int64_t fixed = 1;
  size_t taken = 0;
  if (elementItems)
    most = axes.size();
  for (; taken < std::min(most, axes.size()) && (elementItems || fixed < kItems); ++taken) {
    const Extent &extent = axes[taken].extent;
    if (extent.name.empty())
      fixed *= extent.fixed;
    else
      count.factors.push_back(extent.name);
  }
  (count.factors.empty() ? count.fixed : count.scaled) = fixed;
  plan.phases.back().items = count;
  loop(phase.begin, phase.end, 1, [&](Value item) {
    Value rest = item;
    for (size_t k = taken; k-- > 0;) {
      Value size = extent(axes[k].extent);
      symbols[axes[k].name] = k == 0 ? rest : b.createOrFold<arith::RemUIOp>(rest, size);
      if (k > 0)
        rest = b.createOrFold<arith::DivUIOp>(rest, size);
    }
    body(axes.drop_front(taken));
  });
}

SmallVector<Value> Kernel::readsOf(const Stage &stage) {
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

SizeExpression Kernel::itemsOf(ArrayRef<Axis> outer, int64_t each) {
  SizeExpression count{0, 0, {}};
  for (const Axis &axis : outer)
    if (axis.extent.name.empty())
      each *= axis.extent.fixed;
    else
      count.factors.push_back(axis.extent.name);
  (count.factors.empty() ? count.fixed : count.scaled) = each;
  return count;
}
