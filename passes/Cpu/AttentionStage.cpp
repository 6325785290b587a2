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
    kernel.stage.leading.push_back(extents->at(axis));
  int64_t sharedBytes = kernel.layout.sharedBytes();
  kernel.stage.open = [&](KernelMemory &memory, const PhaseFunction &opened) {
    phase = opened;
    openMemory(stage, opened);
    memory.arguments.clear();
    for (Value operand : operandsOf(op)) {
      Value read = inMemory(operand);
      memory.arguments.push_back(isStored(read) ? storage[read].memory : Value());
    }
    memory.output = storage[op.getResult()].memory;
    memory.lse = op.getLse() ? storage[op.getLse()].memory : Value();
    memory.total = op.getTotal() ? storage[op.getTotal()].memory : Value();
    memory.local = opened.local;
    IndexEmitter::Read indices = reads();
    memory.shared = opened.shared;
    if (sharedBytes && attention.tables.offset)
      memory.shared = memref::ViewOp::create(b, cast<MemRefType>(opened.shared.getType()), opened.shared,
                                             address(attention.tables), ValueRange{index(sharedBytes)});
    if (kernel.parts > 1) {
      int64_t floats = kernel.partBytesOfHead() / 4;
      Value all = index(floats);
      for (const Extent &extent : kernel.stage.leading)
        all = b.createOrFold<arith::MulIOp>(all, extentIn(opened, b, plan, extent));
      memory.parts = memref::ViewOp::create(b, MemRefType::get({ShapedType::kDynamic}, b.getF32Type()), opened.shared,
                                            address(attention.parts), ValueRange{all});
    }
    return indices;
  };
  kernel.stage.computeRow = [&](unsigned argument, Value first, Value target, Value at, double scale) {
    computeRow(operandsOf(op)[argument], first, target, at, scale, kernel.lanes);
  };
  kernel.emit(module, plan);
  return true;
}
