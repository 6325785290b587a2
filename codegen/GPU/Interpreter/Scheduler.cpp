// Chooses the next warp, lets copies arrive, and reports deadlocks.
#include "codegen/GPU/Interpreter/Scheduler.h"
#include <fmt/format.h>

using namespace skewer::gpu;

Scheduler::Scheduler(std::vector<WarpRunner> &warps, BlockState &block)
    : warps(warps), block(block), random(block.concurrency->seed), order(Order(block.concurrency->seed % 5)),
      arrival(Arrival(block.concurrency->seed / 5 % 3)), special(random() % warps.size()), blockedSince(warps.size()) {}

bool Scheduler::canGoOn(size_t warp) const {
  return !warps[warp].isDone() && blockedSince[warp] != block.concurrency->changes() + 1;
}

std::optional<size_t> Scheduler::choose() {
  std::vector<size_t> ready;
  for (size_t k = 1; k <= warps.size(); ++k) { // the warps after the last one come first
    size_t warp = (last + k) % warps.size();
    if (canGoOn(warp))
      ready.push_back(warp);
  }
  if (ready.empty())
    return std::nullopt;
  switch (order) {
  case Order::InTurn:
    return ready.front();
  case Order::LastFirst:
    return *std::max_element(ready.begin(), ready.end());
  case Order::StarvesOne:
    if (ready.size() > 1)
      llvm::erase(ready, special);
    return ready[random() % ready.size()];
  case Order::FavoursOne:
    if (llvm::is_contained(ready, special))
      return special;
    [[fallthrough]];
  case Order::Random:
    break;
  }
  return ready[random() % ready.size()];
}

unsigned Scheduler::turn() {
  constexpr unsigned kLong = 1 << 20;
  if (order == Order::InTurn || order == Order::LastFirst || order == Order::FavoursOne)
    return kLong;
  return random() % 4 ? 1 + random() % 100 : 1;
}

void Scheduler::reportDeadlock(mlir::Operation *kernel) {
  std::string text = fmt::format("no warp of block {} can go on", block.index);
  mlir::Operation *first = kernel;
  for (const WarpRunner &runner : warps) {
    const Warp &warp = runner.state();
    if (runner.isDone()) {
      text += fmt::format("; warp {} has ended", warp.index);
      continue;
    }
    first = first == kernel ? warp.operation : first;
    text += fmt::format("; warp {} waits for {}", warp.index, warp.waitsFor());
  }
  block.report->add(FaultKind::Deadlock, first, text);
}

bool Scheduler::run(mlir::Operation *kernel, int64_t &budget) {
  BulkCopies &copies = block.concurrency->copies;
  while (budget > 0) {
    bool arrives =
        copies.canLand() && (arrival == Arrival::AtOnce || (arrival == Arrival::Random && random() % 3 == 0));
    std::optional<size_t> warp;
    if (!arrives)
      warp = choose();
    if (warp) {
      last = *warp;
      warps[last].runTurn(turn(), budget);
      blockedSince[last] = warps[last].state().blocked ? block.concurrency->changes() + 1 : 0;
      continue;
    }
    if (llvm::all_of(warps, [](const WarpRunner &runner) { return runner.isDone(); })) {
      copies.end();
      return true;
    }
    if (copies.canLand()) {
      copies.land(random);
      continue;
    }
    reportDeadlock(kernel);
    return false;
  }
  return true;
}
