// A fused attention as a stage: its operands are inputs of the kernel or results of earlier stages.
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Cpu/CpuStages.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

bool CpuStages::emitFused(const Stage &stage, attn::AttentionOp op) {
  FusedAttention &attention = *fused[op];
  CpuKernel &kernel = attention.kernel;
  auto extents = extentsOf(op);
  if (!extents)
    return fail(op, "a run-time size of the score is no operand's dimension");
  for (const std::string &axis : attention.shape.space.leading)
    kernel.leading.push_back(extents->at(axis));
  kernel.openStage = [&](CpuKernel &, const PhaseFunction &opened) {
    phase = opened;
    openMemory(stage, opened);
    kernel.arguments.clear();
    for (Value operand : operandsOf(op))
      kernel.arguments.push_back(isStored(operand) ? storage[operand].memory : Value());
    kernel.output = storage[op.getResult()].memory;
    kernel.lse = op.getLse() ? storage[op.getLse()].memory : Value();
    kernel.local = opened.local;
    kernel.reads = reads();
    kernel.shared = opened.shared;
    if (kernel.sharedBytes && attention.tables.offset)
      kernel.shared = memref::ViewOp::create(b, cast<MemRefType>(opened.shared.getType()), opened.shared,
                                             address(attention.tables), ValueRange{index(kernel.sharedBytes)});
  };
  kernel.computeRow = [&](unsigned argument, Value first, Value target, Value at, double scale) {
    computeRow(operandsOf(op)[argument], first, target, at, scale, kernel.lanes);
  };
  emitCpuKernel(kernel, module, plan);
  return true;
}
