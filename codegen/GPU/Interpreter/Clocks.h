// Vector clocks: they tell which accesses to memory happened before which others. A thread knows of an access if
// barriers lead from the access to the thread. The async proxy (TMA, wgmma) knows of an access through the generic
// proxy (loads and stores) only if a thread that knows of it has executed fence.proxy.async on the way: the accessing
// thread itself, or one behind a barrier. PTX ISA, "Memory Consistency Model".
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace skewer::gpu {

/// The number of an agent: something that accesses memory and has a time of its own. Agents are threads, the copies
/// that complete on an mbarrier, the products of a warp, and the bulk stores or the cp.async of a thread.
using Agent = unsigned;

struct Event {
  Agent agent = 0;
  uint32_t time = 0; // 0: never
};

/// The last known time of each agent.
class Clock {
public:
  uint32_t at(Agent agent) const { return agent < times.size() ? times[agent] : 0; }
  bool knows(Event event) const { return at(event.agent) >= event.time; }
  void raise(Event event) {
    if (event.agent >= times.size())
      times.resize(event.agent + 1);
    times[event.agent] = std::max(times[event.agent], event.time);
  }
  void join(const Clock &other) {
    if (times.size() < other.times.size())
      times.resize(other.times.size());
    for (size_t k = 0; k < other.times.size(); ++k)
      times[k] = std::max(times[k], other.times[k]);
  }
  /// Keeps only the accesses that both clocks know of.
  void meet(const Clock &other) {
    times.resize(std::min(times.size(), other.times.size()));
    for (size_t k = 0; k < times.size(); ++k)
      times[k] = std::min(times[k], other.times[k]);
  }

private:
  std::vector<uint32_t> times;
};

/// The accesses that a thread knows of, and the accesses among them that the async proxy knows of.
struct Knowledge {
  Clock generic, async;
  void join(const Knowledge &other) {
    generic.join(other.generic);
    async.join(other.async);
  }
  void meet(const Knowledge &other) {
    generic.meet(other.generic);
    async.meet(other.async);
  }
  /// Adds an event of the async proxy that the thread has waited for: both proxies then know of it.
  void raise(Event event) {
    generic.raise(event);
    async.raise(event);
  }
};

/// The clocks of a block's threads. Agents 0 … threads - 1 are its threads.
class BlockClocks {
public:
  explicit BlockClocks(unsigned threads);
  unsigned threads() const { return unsigned(known.size()); }
  Knowledge &of(unsigned thread) { return known[thread]; }
  Event now(unsigned thread) const { return {thread, known[thread].generic.at(thread)}; }
  /// Adds the knowledge of `thread` to `to`; the thread's later accesses are not part of it.
  void release(unsigned thread, Knowledge &to);
  void acquire(unsigned thread, const Knowledge &from) { known[thread].join(from); }
  /// Executes bar.warp.sync: each lane then knows the accesses that any lane knew.
  void joinWarp(unsigned warp);
  /// Executes fence.proxy.async: the accesses that the thread knows of become visible to the async proxy.
  void fenceAsync(unsigned thread);
  /// Returns the accesses that all lanes of a warp know of.
  Knowledge commonOf(unsigned warp) const;

  /// Adds an agent; messages call it `name`.
  Agent add(std::string name);
  std::string nameOf(Agent) const;
  /// Returns the agent of a thread's cp.async.
  Agent copierOf(unsigned thread);

private:
  void tick(unsigned thread) { known[thread].generic.raise({thread, known[thread].generic.at(thread) + 1}); }
  std::vector<Knowledge> known;
  std::vector<std::string> others;
  std::vector<Agent> copiers; // 0: none yet
};

} // namespace skewer::gpu
