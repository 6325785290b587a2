// Finds the head and the rows of a work item, and what earlier items of the same worker have already packed for it.
#include "passes/Cpu/Strategy.h"

using namespace mlir;
using namespace skewer;

/// Enters a work item. The items of one head are consecutive; the first of them that this worker does packs the keys.
CpuKernel::WorkItem CpuKernel::enterItem(Value item, Value first) {
  if (headsTogether > 1)
    return enterItemOfPhase(item, first);
  Value chunk = b.remainder(item, chunks * parts);
  leadingIndex = b.divide(item, chunks * parts);
  positions.enterHead(leadingIndex);
  Value firstOfHead = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, chunk, b.index(0));
  Value firstOfRun = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, item, first);
  Value prepares = arith::OrIOp::create(b.builder, firstOfHead, firstOfRun), packs = prepares;
  // Heads of a group share their packed keys.
  if (auto bases = basesOfKeys(); !bases.empty())
    packs =
        arith::OrIOp::create(b.builder, firstOfRun, arith::AndIOp::create(b.builder, firstOfHead, keysChange(bases)));
  return {chunk, packs, prepares, firstOfRun, {}};
}

/// Enters a work item if heads take turns: they take a phase one after the other, each with its own packed keys and
/// values; then comes the next phase. The first items of a worker are one of each head, whichever head it begins with.
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
