// Which stages a processor has an engine for.
#include "passes/Cpu/CpuStages.h"
#include "passes/Schedule/ChosenStrategies.h"
#include "passes/Stages/AlignedOperands.h"
#include "passes/Stages/EqualStages.h"

using namespace mlir;
using namespace skewer;

void CpuStages::prepare(func::FuncOp function) {
  if (function->hasAttr(attn::kLengths)) // done before its layers were compared
    return;
  absorbRearrangements(function);
  widenOperands(function);
  alignOperands(function);
  mergeEqualStages(function);
}

bool CpuStages::isMatrixProduct(attn::EinsumOp einsum) {
  bool single = storage[einsum.getResult()].element.isF32();
  for (Value input : einsum.getInputs())
    single &= storage[input].element.isF32() && !storage[input].masked && !storage[input].number;
  return single && matmulOf(einsum);
}

Value CpuStages::inMemory(Value operand) {
  Value source = memoryOf(operand);
  Value narrow = widenedFrom(source);
  bool reads = narrow != source && !isStored(source) && isStored(narrow);
  return reads && !storage[narrow].masked && !storage[narrow].number ? narrow : operand;
}

void CpuStages::planStage(const Stage &stage) {
  if (stage.kind == StageKind::Attention) {
    auto attention = stage.result.getDefiningOp<attn::AttentionOp>();
    std::vector<bool> computed, narrow;
    for (Value operand : operandsOf(attention)) {
      Value memory = inMemory(operand);
      computed.push_back(!isStored(memory));
      narrow.push_back(isStored(memory) && memory != operand);
    }
    std::string reason;
    auto schedule = cast<attn::CpuScheduleAttr>(attention.getScheduleAttr());
    fused[attention] = std::make_unique<FusedAttention>(b, asScheduled(schedule, *fusedShape(attention, reason)),
                                                        schedule, computed, narrow);
  }
  if (auto einsum = dyn_cast_if_present<attn::EinsumOp>(stage.maker()); einsum && isMatrixProduct(einsum))
    matmuls[einsum] = std::make_unique<MatmulPlan>(*matmulOf(einsum), target);
}

CpuStages::OwnMemory CpuStages::ownMemory(const Stage &stage) {
  if (auto attention = fused.find(stage.maker()); attention != fused.end())
    return ownMemory(*attention->second, cast<attn::AttentionOp>(stage.maker()));
  if (auto product = matmuls.find(stage.maker()); product != matmuls.end())
    return {{{&product->second->packed, product->second->packsItself() ? 0 : product->second->packedBytes}},
            product->second->localBytes,
            "matmul"};
  return {};
}

CpuStages::OwnMemory CpuStages::ownMemory(FusedAttention &fused, attn::AttentionOp op) {
  std::vector<Extent> heads;
  if (auto extents = extentsOf(op))
    for (const std::string &axis : fused.shape.space.leading)
      heads.push_back(extents->at(axis));
  const CpuKernel &kernel = fused.kernel;
  return {{{&fused.tables, kernel.layout.sharedBytes()}, {&fused.parts, kernel.partBytesOfHead(), heads}},
          kernel.layout.workerBytes()};
}

bool CpuStages::emit(const Stage &stage) {
  if (fused.count(stage.maker()))
    return emitFused(stage, cast<attn::AttentionOp>(stage.maker()));
  if (matmuls.count(stage.maker()))
    return emitMatmul(stage, cast<attn::EinsumOp>(stage.maker()));
  return Kernel::emit(stage);
}
