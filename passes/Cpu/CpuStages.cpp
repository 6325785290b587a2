// Decides which stages have an engine of their own on a processor, plans them, and calls their emitters. All other
// stages are left to the generic path.
#include "passes/Cpu/CpuStages.h"
#include "passes/Cpu/Schedule/ShortSchedule.h"
#include "passes/Stages/PrepareStages.h"

using namespace mlir;
using namespace skewer;

void CpuStages::prepare(func::FuncOp function) {
  if (function->hasAttr(attn::kLengths)) // its stages were prepared before its layers were compared
    return;
  prepareStages(function);
}

bool CpuStages::isMatrixProduct(attn::EinsumOp einsum) {
  bool single = tensors.storage[einsum.getResult()].element.isF32() && !tensors.checksAbsence(einsum);
  for (Value input : einsum.getInputs())
    single &= tensors.storage[input].element.isF32() && !tensors.storage[input].number;
  return single && matmulOf(einsum);
}

Value CpuStages::inMemory(Value operand) {
  Value source = memoryOf(operand);
  Value narrow = widenedFrom(source);
  bool reads = narrow != source && !tensors.isStored(source) && tensors.isStored(narrow);
  return reads && !tensors.storage[narrow].mayBeAbsent && !tensors.storage[narrow].number ? narrow : operand;
}

void CpuStages::planAttention(attn::AttentionOp attention, const OperandForms &forms) {
  AttentionShape shape = *fusedShape(attention);
  auto attended = std::make_unique<FusedAttention>();
  auto add = [&](attn::CpuScheduleAttr schedule, int64_t above, int64_t atMost) {
    attended->ways.push_back(std::make_unique<ScheduledAttention>(b, asScheduled(schedule, shape),
                                                                  AttentionStage{.schedule = schedule,
                                                                                 .computed = forms.computed,
                                                                                 .narrow = forms.narrow,
                                                                                 .scaled = forms.scaled,
                                                                                 .above = above,
                                                                                 .atMost = atMost,
                                                                                 .target = target,
                                                                                 .elements = forms.elements,
                                                                                 .result = forms.result}));
  };
  auto forShort = shortScheduleOf(attention);
  add(cast<attn::CpuScheduleAttr>(attention.getScheduleAttr()), forShort ? forShort->atMost : 0, 0);
  if (forShort)
    add(forShort->schedule, 0, forShort->atMost);
  fused[attention] = std::move(attended);
}

void CpuStages::planStage(const Stage &stage) {
  if (stage.kind == StageKind::Attention) {
    auto attention = cast<attn::AttentionOp>(stage.maker());
    OperandForms forms;
    for (Value operand : operandsOf(attention)) {
      Value memory = inMemory(operand), rows = tensors.isStored(memory) ? Value() : elements.scaledFrom(operand);
      forms.computed.push_back(!tensors.isStored(memory));
      forms.scaled.push_back(rows != Value());
      forms.narrow.push_back(tensors.isStored(memory) && memory != operand);
      Value read = rows ? rows : memory;
      // An operand without memory has the type to which it is rounded.
      forms.elements.push_back(tensors.isStored(read) ? elementTypeOf(tensors.storage[read].element)
                                                      : elementTypeOf(widenedFrom(operand).getType()));
    }
    forms.result = elementTypeOf(getElementTypeOrSelf(stage.result.getType()));
    planAttention(attention, forms);
  }
  if (auto einsum = dyn_cast_if_present<attn::EinsumOp>(stage.maker()); einsum && isMatrixProduct(einsum))
    matmuls[einsum] = std::make_unique<MatmulPlan>(*matmulOf(einsum), elementOf(einsum), target);
}

ElementType CpuStages::elementOf(attn::EinsumOp product) {
  Value columns = inMemory(product.getInputs()[matmulOf(product)->columnsInput]);
  Type element = tensors.storage[columns].element;
  auto function = product->getParentOfType<func::FuncOp>();
  bool isOfAll =
      llvm::all_of(function.getResultTypes(), [&](Type result) { return getElementTypeOrSelf(result) == element; });
  return isOfAll ? elementTypeOf(element) : ElementType::F32;
}

CpuStages::OwnMemory CpuStages::ownMemory(const Stage &stage) {
  if (auto attention = fused.find(stage.maker()); attention != fused.end())
    return ownMemory(*attention->second, cast<attn::AttentionOp>(stage.maker()));
  if (auto product = matmuls.find(stage.maker()); product != matmuls.end())
    return ownMemory(*product->second, cast<attn::EinsumOp>(stage.maker()));
  return {};
}

CpuStages::OwnMemory CpuStages::ownMemory(MatmulPlan &product, attn::EinsumOp op) {
  Value columns = inMemory(op.getInputs()[product.matmul.columnsInput]);
  bool isPrepared = mayPrepare && tensors.isConst(columns);
  return {{{&product.packed, product.packsItself() ? 0 : product.packedBytes, {}, isPrepared}},
          product.localBytes,
          "matmul"};
}

CpuStages::OwnMemory CpuStages::ownMemory(FusedAttention &fused, attn::AttentionOp op) {
  std::vector<Extent> heads;
  if (auto extents = tensors.extentsOf(op))
    for (const std::string &axis : fused.shape().space.leading)
      heads.push_back(extents->at(axis));
  SmallVector<Value> operands = operandsOf(op);
  int64_t tables = 0, parts = 0, local = 0;
  bool isPrepared = mayPrepare;
  for (const auto &way : fused.ways) {
    const CpuKernel &kernel = way->kernel;
    auto packed = kernel.packedArguments();
    isPrepared &= packed && llvm::all_of(*packed, [&](unsigned argument) {
                    return tensors.isConst(inMemory(operands[argument]));
                  });
    tables = std::max(tables, kernel.layout.sharedBytes());
    parts = std::max(parts, kernel.parts.bytesOfHead());
    local = std::max(local, kernel.layout.workerBytes());
  }
  return {{{&fused.tables, tables, {}, isPrepared}, {&fused.parts, parts, heads}}, local};
}

bool CpuStages::emit(const Stage &stage) {
  if (fused.count(stage.maker()))
    return emitFused(stage, cast<attn::AttentionOp>(stage.maker()));
  if (matmuls.count(stage.maker()))
    return emitMatmul(stage, cast<attn::EinsumOp>(stage.maker()));
  return Kernel::emit(stage);
}
