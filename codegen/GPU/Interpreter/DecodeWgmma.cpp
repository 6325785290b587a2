// Decodes wgmma and the instructions that order it: fence, commit_group and wait_group. WgmmaRegisters.h computes the
// products.
#include "codegen/GPU/Interpreter/Concurrency.h"
#include "codegen/GPU/Interpreter/Program.h"
#include "codegen/GPU/Interpreter/WgmmaForm.h"
#include "codegen/GPU/Interpreter/WgmmaRegisters.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace skewer::gpu;

namespace {

void inStep(Warp &warp, std::vector<uint64_t> operands) {
  warp.needAllLanes("wgmma");
  warp.block->concurrency->groups.note(warp, std::move(operands));
}

uint64_t uniform(Warp &warp, unsigned number) {
  const Lanes &lanes = warp.registers[number];
  if (std::any_of(lanes.begin(), lanes.end(), [&](uint64_t x) { return x != lanes[0]; }))
    warp.block->report->add(FaultKind::Divergence, warp.operation, "lanes give wgmma different operands");
  return lanes[0];
}

bool decodeProduct(Decoder &decoder, LLVM::InlineAsmOp op, const WgmmaForm &form, Step &step) {
  unsigned count = form.results(), parts = form.registersA ? 4 : 1;
  if (op.getNumOperands() != count + parts + 2 || op.getNumResults() != 1)
    return false;
  Slots result = decoder.slots(op.getResult(0));
  WgmmaOperands operands;
  for (unsigned k = 0; k < result.count; ++k)
    operands.results.push_back(result.first + k);
  auto registersOf = [&](unsigned first, unsigned number, std::vector<unsigned> &to) {
    for (unsigned k = 0; k < number; ++k)
      to.push_back(decoder.slots(op.getOperand(first + k)).first);
  };
  std::vector<unsigned> rest;
  registersOf(0, count, operands.sums);
  registersOf(count, parts, form.registersA ? operands.a : rest);
  registersOf(count + parts, 2, rest);
  if (result.count != count || result.bits != 32)
    return false;
  step.ownRegisters().isWgmma = true;
  step.run = [=](Warp &warp) {
    WgmmaOperands own = operands;
    own.descriptorA = form.registersA ? 0 : uniform(warp, rest.front());
    own.descriptorB = uniform(warp, rest[rest.size() - 2]);
    own.accumulates = uint32_t(uniform(warp, rest.back())) != 0;
    inStep(warp, {own.descriptorA, own.descriptorB, own.accumulates});
    ++warp.block->report->matrixSteps;
    warp.wgmma->issue(warp, form, std::move(own));
  };
  return true;
}

void decodeWait(unsigned pending, Step &step) {
  step.ownRegisters().isWgmma = true;
  step.run = [pending, moves = step.registers->moves](Warp &warp) {
    inStep(warp, {});
    warp.wgmma->wait(warp, pending);
    for (auto [from, to] : moves)
      warp.registers[to] = warp.registers[from];
  };
}

} // namespace

bool skewer::gpu::decodeWgmma(Decoder &decoder, Operation &op, Step &step) {
  if (auto text = dyn_cast<LLVM::InlineAsmOp>(op)) {
    if (auto form = wgmmaFormOf(text.getAsmString(), text.getConstraints())) {
      decoder.program.concurrent = true;
      return decodeProduct(decoder, text, *form, step);
    }
    auto groups = wgmmaWaitOf(text.getAsmString(), text.getConstraints(), op.getNumOperands());
    if (!groups)
      return false;
    unsigned place = op.getNumResults() ? decoder.slots(op.getResult(0)).first : 0;
    for (Value operand : op.getOperands())
      step.ownRegisters().moves.push_back({decoder.slots(operand).first, place++});
    decodeWait(*groups, step);
  } else if (auto wait = dyn_cast<NVVM::WgmmaWaitGroupSyncOp>(op)) {
    decodeWait(unsigned(wait.getGroup()), step);
  } else if (isa<NVVM::WgmmaFenceAlignedOp>(op)) {
    step.run = [](Warp &warp) {
      inStep(warp, {});
      warp.wgmma->fence();
    };
  } else if (isa<NVVM::WgmmaGroupSyncAlignedOp>(op)) {
    step.run = [](Warp &warp) {
      inStep(warp, {});
      warp.wgmma->commit();
    };
  } else {
    return false;
  }
  decoder.program.concurrent = true;
  return true;
}
