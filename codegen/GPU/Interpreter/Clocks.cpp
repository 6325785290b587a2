// The operations on the clocks of a block's threads.
#include "codegen/GPU/Interpreter/Clocks.h"
#include "codegen/GPU/Interpreter/Machine.h"
#include <fmt/format.h>

using namespace skewer::gpu;

BlockClocks::BlockClocks(unsigned threads) : known(threads), copiers(threads) {
  for (unsigned thread = 0; thread < threads; ++thread)
    known[thread].generic.raise({thread, 1});
}

void BlockClocks::release(unsigned thread, Knowledge &to) {
  to.join(known[thread]);
  tick(thread);
}

void BlockClocks::joinWarp(unsigned warp) {
  Knowledge all;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    all.join(known[warp * kLanes + lane]);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    known[warp * kLanes + lane] = all;
    tick(warp * kLanes + lane);
  }
}

void BlockClocks::fenceAsync(unsigned thread) {
  known[thread].async.join(known[thread].generic);
  tick(thread);
}

Knowledge BlockClocks::commonOf(unsigned warp) const {
  Knowledge common = known[warp * kLanes];
  for (unsigned lane = 1; lane < kLanes; ++lane)
    common.meet(known[warp * kLanes + lane]);
  return common;
}

Agent BlockClocks::add(std::string name) {
  others.push_back(std::move(name));
  return Agent(known.size() + others.size() - 1);
}

std::string BlockClocks::nameOf(Agent agent) const {
  return agent < known.size() ? fmt::format("thread {}", agent) : others[agent - known.size()];
}

Agent BlockClocks::copierOf(unsigned thread) {
  if (!copiers[thread])
    copiers[thread] = add(fmt::format("cp.async of thread {}", thread));
  return copiers[thread];
}
