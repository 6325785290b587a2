// Checks the accesses to registers and shared memory that wgmma works on, and computes products at their waits.
#include "codegen/GPU/Interpreter/WgmmaRegisters.h"
#include "codegen/GPU/Interpreter/Concurrency.h"
#include "codegen/GPU/Interpreter/Program.h"
#include "codegen/GPU/Interpreter/WgmmaProduct.h"
#include <fmt/format.h>

using namespace skewer::gpu;

namespace {

std::string warpOf(const Warp &warp) { return fmt::format("warp {} of block {}", warp.index, warp.block->index); }
void fault(const Warp &warp, FaultKind kind, std::string message) {
  warp.block->report->add(kind, warp.operation, fmt::format("{} {}", warpOf(warp), message));
}

/// Return the part of A or B that a warp needs. Each warp of a warpgroup has 16 rows of A.
WgmmaTile tileA(const Warp &warp, const WgmmaForm &form, uint64_t descriptor) {
  return {MatrixDescriptor(descriptor), warp.index % kWarpsOfGroup * 16, 16, form.transposedA};
}
WgmmaTile tileB(const WgmmaForm &form, uint64_t descriptor) {
  return {MatrixDescriptor(descriptor), 0, form.columns, form.transposedB};
}

} // namespace

WgmmaRegisters::WgmmaRegisters(size_t registers, llvm::ArrayRef<unsigned> poison) : states(registers) {
  for (unsigned number : poison)
    states[number].poison = true;
}

void WgmmaRegisters::before(const Warp &warp, const StepRegisters &step) {
  ++now;
  if (step.isWgmma)
    return;
  for (const Slots &slots : step.reads)
    for (unsigned k = 0; k < slots.count && step.moves.empty(); ++k) {
      const Register &state = states[slots.first + k];
      if (state.flight >= 0)
        fault(warp, FaultKind::Race, "reads a sum of a wgmma that has not been waited for");
      if (state.sum)
        lastSumRead = now;
    }
  for (const Slots &slots : step.writes)
    for (unsigned k = 0; k < slots.count; ++k)
      if (states[slots.first + k].readers)
        fault(warp, FaultKind::Race, "writes a register that a wgmma reads as A and that has not been waited for");
}

void WgmmaRegisters::after(const StepRegisters &step) {
  if (step.isWgmma && step.moves.empty())
    return;
  auto set = [&](unsigned number, Register state) {
    state.readers = states[number].readers;
    states[number] = state;
  };
  for (auto [from, to] : step.moves)
    set(to, states[from]);
  Register written;
  written.written = now;
  for (const Slots &slots : step.writes)
    for (unsigned k = 0; k < slots.count && step.moves.empty(); ++k)
      set(slots.first + k, written);
}

void WgmmaRegisters::move(const Warp &warp, llvm::ArrayRef<std::pair<unsigned, unsigned>> moves) {
  std::vector<Register> moved;
  for (auto [from, to] : moves)
    moved.push_back(states[from]);
  for (size_t k = 0; k < moves.size(); ++k) {
    Register &to = states[moves[k].second];
    if (to.readers && moves[k].first != moves[k].second)
      fault(warp, FaultKind::Race, "writes a register that a wgmma reads as A and that has not been waited for");
    moved[k].readers = to.readers;
    to = moved[k];
  }
}

void WgmmaRegisters::checkFence(const Warp &warp, const WgmmaForm &form, const WgmmaOperands &operands) const {
  if (lastFence == 0)
    fault(warp, FaultKind::Race, "executes no wgmma.fence before its first wgmma");
  for (unsigned number : operands.a) {
    const Register &state = states[number];
    if (state.flight >= 0)
      fault(warp, FaultKind::Race, "takes as A a sum of a wgmma that has not been waited for");
    else if (state.poison)
      fault(warp, FaultKind::Uninitialised, "takes as A a register that nothing wrote");
    else if (state.written > lastFence)
      fault(warp, FaultKind::Race, "writes a register of A after the last wgmma.fence");
  }
  for (unsigned number : operands.sums) {
    const Register &state = states[number];
    if (!operands.accumulates)
      continue;
    if (state.flight >= 0) {
      const WgmmaForm &other = flights.at(state.flight).form;
      if (other.columns != form.columns || other.type != form.type)
        fault(warp, FaultKind::Race, "adds to a sum of a wgmma of another shape that has not been waited for");
    } else if (state.poison) {
      fault(warp, FaultKind::Uninitialised, "adds to a register that nothing wrote");
    } else if (state.written > lastFence) {
      fault(warp, FaultKind::Race, "writes a register of the sum after the last wgmma.fence");
    }
  }
  if (lastSumRead > lastFence)
    fault(warp, FaultKind::Race, "reads sums of a wgmma and then executes no wgmma.fence before the next one");
}

void WgmmaRegisters::checkMemory(Warp &warp, Flight &flight) {
  Concurrency &block = *warp.block->concurrency;
  if (!agent)
    agent = block.clocks.add(fmt::format("a wgmma of warp {}", warp.index));
  Knowledge visible = block.clocks.commonOf(warp.index);
  Event event{agent, flight.group};
  auto check = [&](const WgmmaTile &tile) {
    if (std::string problem = tile.descriptor.problem(tile.transposed); !problem.empty()) {
      fault(warp, FaultKind::Misuse, "gives wgmma a wrong descriptor: " + problem);
      flight.broken = true;
      return;
    }
    tile.forEachChunk(flight.form.depth(), [&](uint64_t address, unsigned, unsigned) {
      flight.broken |= !block.history.asyncRead(address, 16, event, visible, warp.access(0));
    });
  };
  if (!flight.form.registersA)
    check(tileA(warp, flight.form, flight.operands.descriptorA));
  check(tileB(flight.form, flight.operands.descriptorB));
}

void WgmmaRegisters::issue(Warp &warp, const WgmmaForm &form, WgmmaOperands operands) {
  checkFence(warp, form, operands);
  Flight flight;
  flight.form = form;
  flight.group = committed + 1;
  flight.operation = warp.operation;
  flight.sums = std::make_shared<Sums>(form.results(), Lanes{});
  std::shared_ptr<Sums> own;
  for (size_t k = 0; k < operands.sums.size() && operands.accumulates; ++k) {
    unsigned number = operands.sums[k];
    if (int32_t earlier = states[number].flight; earlier >= 0) {
      flight.before.push_back({flights.at(earlier).sums, states[number].element});
      continue;
    }
    if (!own)
      own = std::make_shared<Sums>(form.results());
    (*own)[k] = warp.registers[number];
    flight.before.push_back({own, unsigned(k)});
  }
  for (unsigned number : operands.a)
    ++states[number].readers;
  for (size_t k = 0; k < operands.results.size(); ++k) {
    Register state;
    state.flight = nextFlight;
    state.element = uint16_t(k);
    state.readers = states[operands.results[k]].readers;
    states[operands.results[k]] = state;
    warp.registers[operands.results[k]].fill(0x7fc0dead); // a NaN, where a fault is overlooked
  }
  flight.operands = std::move(operands);
  checkMemory(warp, flight);
  flights[nextFlight++] = std::move(flight);
}

void WgmmaRegisters::finish(Warp &warp, int32_t number, Flight &flight) {
  for (size_t k = 0; k < flight.before.size(); ++k)
    (*flight.sums)[k] = (*flight.before[k].first)[flight.before[k].second];
  if (!flight.broken) {
    const uint8_t *shared = warp.block->shared->data();
    const WgmmaForm &form = flight.form;
    std::vector<Term> a = form.registersA ? loadA(warp, form, flight.operands.a)
                                          : tileA(warp, form, flight.operands.descriptorA).load(shared, form);
    multiplyWarp(form, a, tileB(form, flight.operands.descriptorB).load(shared, form), *flight.sums);
  }
  for (unsigned source : flight.operands.a)
    --states[source].readers;
  for (size_t k = 0; k < states.size(); ++k)
    if (states[k].flight == number) {
      warp.registers[k] = (*flight.sums)[states[k].element];
      states[k].flight = -1;
      states[k].written = 0;
      states[k].sum = true;
    }
}

void WgmmaRegisters::wait(Warp &warp, unsigned pending) {
  if (committed < pending)
    return;
  while (!flights.empty() && flights.begin()->second.group + pending <= committed) {
    auto first = flights.begin();
    finish(warp, first->first, first->second);
    flights.erase(first);
  }
  if (agent)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      warp.block->concurrency->clocks.of(warp.index * kLanes + lane).raise({agent, committed - pending});
}

void WgmmaRegisters::end(const Warp &warp, mlir::Operation *end) {
  if (!flights.empty())
    warp.block->report->add(FaultKind::Race, end,
                            fmt::format("{} ends before its wgmma have been waited for", warpOf(warp)));
}
