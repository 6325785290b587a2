// Which head and which of its rows a work item is, and what it finds there from the items before.
#include "passes/Cpu/Strategy.h"

using namespace mlir;
using namespace skewer;

/// Items of one head follow each other: its keys are packed by the first of them that this worker does.
CpuKernel::WorkItem CpuKernel::enterItem(Value item, Value first) {
  if (headsTogether > 1)
    return enterItemOfPhase(item, first);
  Value chunk = b.remainder(item, chunks * parts);
  leadingIndex = b.divide(item, chunks * parts);
  positions.enterHead(leadingIndex);
  Value firstOfHead = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, chunk, b.index(0));
  Value firstOfRun = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, item, first);
  Value prepares = arith::OrIOp::create(b.builder, firstOfHead, firstOfRun), packs = prepares;
  // Heads of a group share what is packed.
  if (auto bases = basesOfKeys(); !bases.empty())
    packs =
        arith::OrIOp::create(b.builder, firstOfRun, arith::AndIOp::create(b.builder, firstOfHead, keysChange(bases)));
  return {chunk, packs, prepares, firstOfRun, {}};
}

/// Heads take a phase one after the other, each with packed keys and values of its own; then comes the next phase. The
/// first items of a worker are one of each head, whichever it begins with.
CpuKernel::WorkItem CpuKernel::enterItemOfPhase(Value item, Value first) {
  Value turn = b.remainder(item, headsTogether), rest = b.divide(item, headsTogether);
  Value phase = b.remainder(rest, chunks);
  leadingIndex = b.add(b.mul(b.divide(rest, chunks), headsTogether), turn);
  positions.enterHead(leadingIndex);
  auto ofTurn = [&](const Buffer &buffer, int64_t floats) {
    return b.view(memory.local, b.add(b.mul(turn, floats * int64_t(sizeof(float))), buffer.offset), floats);
  };
  memory.keys = ofTurn(buffers.keys, buffers.keys.floats / headsTogether);
  if (buffers.values.floats)
    memory.values = ofTurn(buffers.values, buffers.values.floats / headsTogether);
  auto isZero = [&](Value x) {
    return arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, x, b.index(0)).getResult();
  };
  Value early = b.less(b.sub(item, first), b.index(headsTogether));
  Value prepares = arith::OrIOp::create(b.builder, isZero(phase), early);
  Value changes = arith::OrIOp::create(b.builder, isZero(turn), isZero(b.sub(item, first)));
  return {phase, prepares, prepares, {}, changes};
}
