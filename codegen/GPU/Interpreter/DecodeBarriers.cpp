// Decodes the instructions that order warps and proxies: mbarriers, named barriers, fences, elect.sync, setmaxnreg. PTX
// ISA, "Parallel Synchronization and Communication Instructions".
#include "codegen/GPU/Interpreter/Concurrency.h"
#include "codegen/GPU/Interpreter/EachLane.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>

using namespace mlir;
using namespace skewer::gpu;

namespace {

constexpr unsigned kSharedMemory = 3; // its address space

bool isShared(Value pointer) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == kSharedMemory;
}

bool decodeInit(Decoder &decoder, NVVM::MBarrierInitOp op, Step &step) {
  unsigned address = decoder.slots(op.getAddr()).first, count = decoder.slots(op.getCount()).first;
  forEachLane(decoder, op.getPredicate(), step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->mbarriers.init(warp.registers[address][lane], warp.registers[count][lane],
                                            warp.access(lane));
  });
  return isShared(op.getAddr());
}

bool decodeInvalidate(Decoder &decoder, NVVM::MBarrierInvalOp op, Step &step) {
  unsigned address = decoder.slots(op.getAddr()).first;
  forEachLane(decoder, nullptr, step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->mbarriers.invalidate(warp.registers[address][lane], warp.access(lane));
  });
  return isShared(op.getAddr());
}

/// Decodes an arrival. Returns false for relaxed arrivals, and for arrivals whose state another operation uses: the
/// interpreter does not know them.
bool decodeArrive(Decoder &decoder, NVVM::MBarrierArriveOp op, Step &step) {
  unsigned address = decoder.slots(op.getAddr()).first;
  std::optional<unsigned> count;
  if (op.getCount())
    count = decoder.slots(op.getCount()).first;
  forEachLane(decoder, nullptr, step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->mbarriers.arrive(warp.registers[address][lane], count ? warp.registers[*count][lane] : 1,
                                              warp.access(lane));
  });
  return isShared(op.getAddr()) && !op.getRelaxed() && (!op.getRes() || op.getRes().use_empty());
}

bool decodeExpect(Decoder &decoder, NVVM::MBarrierArriveExpectTxOp op, Step &step) {
  unsigned address = decoder.slots(op.getAddr()).first, bytes = decoder.slots(op.getTxcount()).first;
  forEachLane(decoder, op.getPredicate(), step, [=](Warp &warp, unsigned lane) {
    Mbarriers &mbarriers = warp.block->concurrency->mbarriers;
    mbarriers.expect(warp.registers[address][lane], warp.registers[bytes][lane], warp.access(lane));
    mbarriers.arrive(warp.registers[address][lane], 1, warp.access(lane));
  });
  return isShared(op.getAddr()) && !op.getRelaxed() && (!op.getRes() || op.getRes().use_empty());
}

bool decodeExpectOnly(Decoder &decoder, NVVM::MBarrierExpectTxOp op, Step &step) {
  unsigned address = decoder.slots(op.getAddr()).first, bytes = decoder.slots(op.getTxcount()).first;
  forEachLane(decoder, nullptr, step, [=](Warp &warp, unsigned lane) {
    warp.block->concurrency->mbarriers.expect(warp.registers[address][lane], warp.registers[bytes][lane],
                                              warp.access(lane));
  });
  return isShared(op.getAddr());
}

/// Decodes the wait for a phase. A step blocks until the phase is complete, since MLIR lowers the operation to a loop
/// that ends then.
bool decodeWait(Decoder &decoder, NVVM::MBarrierTryWaitParityOp op, Step &step) {
  unsigned address = decoder.slots(op.getAddr()).first, phase = decoder.slots(op.getPhase()).first;
  step.run = [=](Warp &warp) {
    Mbarriers &mbarriers = warp.block->concurrency->mbarriers;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane))
        continue;
      uint64_t place = warp.registers[address][lane];
      auto parity = unsigned(warp.registers[phase][lane]);
      if (mbarriers.wait(place, parity, warp.access(lane)))
        continue;
      warp.blocked = true;
      warp.waitsFor = [&mbarriers, place, parity] { return mbarriers.describe(place, parity); };
    }
  };
  return isShared(op.getAddr());
}

bool decodeProxyFence(NVVM::FenceProxyOp op, Decoder &decoder, Step &step) {
  bool covers = op.getKind() == NVVM::ProxyKind::async || op.getKind() == NVVM::ProxyKind::async_shared;
  forEachLane(decoder, nullptr, step, [=](Warp &warp, unsigned lane) {
    if (covers)
      warp.block->concurrency->clocks.fenceAsync(warp.access(lane).thread);
  });
  return covers || op.getKind() == NVVM::ProxyKind::async_global;
}

/// An operand whose value all lanes share: its register, or a default number if the operation has no such operand.
struct Shared {
  Shared(Decoder &decoder, Value value) {
    if (value)
      number = decoder.slots(value).first;
  }
  uint64_t in(Warp &warp, uint64_t otherwise) const {
    if (!number)
      return otherwise;
    const Lanes &lanes = warp.registers[*number];
    if (llvm::any_of(lanes, [&](uint64_t x) { return x != lanes[0]; }))
      warp.block->report->add(FaultKind::Divergence, warp.operation, "lanes of a warp name different barriers");
    return lanes[0];
  }
  std::optional<unsigned> number;
};

bool decodeBarrier(Decoder &decoder, NVVM::BarrierOp op, Step &step) {
  Shared id(decoder, op.getBarrierId()), threads(decoder, op.getNumberOfThreads());
  step.run = [=](Warp &warp) {
    warp.needAllLanes("bar.sync");
    NamedBarriers &named = warp.block->concurrency->named;
    uint64_t number = id.in(warp, 0);
    warp.blocked = !named.sync(warp, number, threads.in(warp, warp.block->threads));
    if (warp.blocked)
      warp.waitsFor = [&named, number] { return named.describe(number); };
  };
  return !op.getReductionOp();
}

bool decodeBarrierArrive(Decoder &decoder, NVVM::BarrierArriveOp op, Step &step) {
  Shared id(decoder, op.getBarrierId()), threads(decoder, op.getNumberOfThreads());
  step.run = [=](Warp &warp) {
    warp.needAllLanes("bar.arrive");
    warp.block->concurrency->named.arrive(warp, id.in(warp, 0), threads.in(warp, 0));
  };
  return true;
}

/// Decodes elect.sync. It elects one of the lanes in the mask: always the same lane, but not always the first.
bool decodeElect(Decoder &decoder, NVVM::ElectSyncOp op, Step &step) {
  Shared members(decoder, op.getMembermask());
  unsigned out = decoder.slots(op.getPred()).first;
  step.run = [=](Warp &warp) {
    auto mask = Mask(members.in(warp, ~0u));
    if (mask != warp.mask)
      warp.block->report->add(FaultKind::Divergence, warp.operation,
                              fmt::format("elect.sync names lanes {:#010x}, and {:#010x} run it", mask, warp.mask));
    unsigned leader = (warp.block->concurrency->seed * 7 + warp.index * 13) % kLanes;
    while (!(mask >> leader & 1) && mask)
      leader = (leader + 1) % kLanes;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.runs(lane))
        warp.registers[out][lane] = lane == leader;
  };
  return true;
}

bool decodeRegisters(Decoder &decoder, NVVM::SetMaxRegisterOp op, Step &step) {
  auto count = unsigned(op.getRegCount());
  bool increase = op.getAction() == NVVM::SetMaxRegisterAction::increase;
  // Without these attributes ptxas ignores setmaxnreg.
  bool bounded = decoder.kernel->hasAttr("nvvm.maxnreg") ||
                 (decoder.kernel->hasAttr("nvvm.maxntid") && decoder.kernel->hasAttr("nvvm.minctasm"));
  step.run = [=](Warp &warp) {
    Concurrency &block = *warp.block->concurrency;
    Report &report = *warp.block->report;
    if (!warp.again) {
      warp.needAllLanes("setmaxnreg");
      block.groups.note(warp, {});
    }
    if (!bounded)
      report.add(FaultKind::Misuse, warp.operation,
                 "setmaxnreg has no effect in a kernel without nvvm.maxnreg, or nvvm.maxntid and nvvm.minctasm");
    warp.blocked = !block.registers.set(warp, count, increase, report);
    if (warp.blocked)
      warp.waitsFor = [&block, count] {
        return fmt::format("{} registers a thread, where the block has {} left for a warp", count,
                           block.registers.free());
      };
  };
  return true;
}

} // namespace

bool skewer::gpu::decodeBarriers(Decoder &decoder, Operation &op, Step &step) {
  bool known = llvm::TypeSwitch<Operation *, bool>(&op)
                   .Case([&](NVVM::MBarrierInitOp init) { return decodeInit(decoder, init, step); })
                   .Case([&](NVVM::MBarrierInvalOp invalidate) { return decodeInvalidate(decoder, invalidate, step); })
                   .Case([&](NVVM::MBarrierArriveOp arrive) { return decodeArrive(decoder, arrive, step); })
                   .Case([&](NVVM::MBarrierArriveExpectTxOp arrive) { return decodeExpect(decoder, arrive, step); })
                   .Case([&](NVVM::MBarrierExpectTxOp expect) { return decodeExpectOnly(decoder, expect, step); })
                   .Case([&](NVVM::MBarrierTryWaitParityOp wait) { return decodeWait(decoder, wait, step); })
                   .Case([&](NVVM::FenceMbarrierInitOp) {
                     forEachLane(decoder, nullptr, step, [](Warp &warp, unsigned lane) {
                       warp.block->concurrency->mbarriers.fenceInit(warp.access(lane).thread);
                     });
                     return true;
                   })
                   .Case([&](NVVM::FenceProxyOp fence) { return decodeProxyFence(fence, decoder, step); })
                   .Case([&](NVVM::BarrierOp barrier) { return decodeBarrier(decoder, barrier, step); })
                   .Case([&](NVVM::BarrierArriveOp arrive) { return decodeBarrierArrive(decoder, arrive, step); })
                   .Case([&](NVVM::ElectSyncOp elect) { return decodeElect(decoder, elect, step); })
                   .Case([&](NVVM::SetMaxRegisterOp set) { return decodeRegisters(decoder, set, step); })
                   .Default([](Operation *) { return false; });
  decoder.program.concurrent |= known;
  return known;
}
