// Counts the threads that have come to each named barrier, and releases the warps that wait.
#include "codegen/GPU/Interpreter/NamedBarriers.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace skewer::gpu;

bool NamedBarriers::come(const Warp &warp, uint64_t id, uint64_t threads, bool waits) {
  auto misuse = [&](std::string message) {
    report.add(FaultKind::Misuse, warp.operation,
               fmt::format("warp {} of block {}: {}", warp.index, warp.block->index, std::move(message)));
    return false;
  };
  if (id >= barriers.size())
    return misuse(fmt::format("there is no barrier {}", id));
  if (threads == 0 || threads % kLanes || threads > warp.block->threads)
    return misuse(fmt::format("a barrier of {} threads, in blocks of {}; a multiple of 32 is needed", threads,
                              warp.block->threads));
  Barrier &barrier = barriers[id];
  if (barrier.threads && barrier.threads != threads)
    return misuse(fmt::format("barrier {} of {} threads, where warp {} came for {}", id, threads, barrier.warps.front(),
                              barrier.threads));
  if (llvm::is_contained(barrier.warps, warp.index))
    return misuse(fmt::format("comes to barrier {} again before the others have come once", id));
  barrier.threads = threads;
  barrier.arrived += kLanes;
  barrier.warps.push_back(warp.index);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    clocks.release(warp.index * kLanes + lane, barrier.gathered);
  states[warp.index] = waits ? State::Waits : states[warp.index];
  if (waits)
    barrier.waiting.push_back(warp.index);
  ++changed;
  if (barrier.arrived < threads)
    return true;
  for (unsigned waiting : barrier.waiting) {
    states[waiting] = State::Released;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      clocks.acquire(waiting * kLanes + lane, barrier.gathered);
  }
  barrier = Barrier();
  return true;
}

bool NamedBarriers::sync(const Warp &warp, uint64_t id, uint64_t threads) {
  State &state = states[warp.index];
  if (state == State::Free && !come(warp, id, threads, true))
    return true;
  if (state == State::Waits)
    return false;
  state = State::Free;
  return true;
}

void NamedBarriers::arrive(const Warp &warp, uint64_t id, uint64_t threads) { come(warp, id, threads, false); }

std::string NamedBarriers::describe(uint64_t id) const {
  if (id >= barriers.size())
    return fmt::format("barrier {}, which does not exist", id);
  return fmt::format("barrier {}, where {} of {} threads have come", id, barriers[id].arrived, barriers[id].threads);
}
