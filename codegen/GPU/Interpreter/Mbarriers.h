// The mbarriers of a block, for DecodeBarriers.cpp and bulk copies. They also carry the knowledge of the threads that
// arrive to the threads that wait (Clocks.h). PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier".
#pragma once
#include "codegen/GPU/Interpreter/AccessHistory.h"
#include "codegen/GPU/Interpreter/Clocks.h"
#include "codegen/GPU/Interpreter/Machine.h"
#include <map>

namespace skewer::gpu {

class Mbarriers {
public:
  Mbarriers(size_t sharedBytes, BlockClocks &clocks, AccessHistory &history, Report &report)
      : sharedBytes(sharedBytes), clocks(clocks), history(history), report(report) {}

  void init(uint64_t address, uint64_t count, const Access &);
  void invalidate(uint64_t address, const Access &);
  /// Executes fence.mbarrier_init: copies may use the mbarriers that the thread has initialised, after
  /// fence.proxy.async.
  void fenceInit(unsigned thread);
  void arrive(uint64_t address, uint64_t count, const Access &);
  /// Counts an arrival that copies of a thread have caused; only these copies become known to those who wait.
  void arriveFor(uint64_t address, Event copies, const Access &);
  /// Adds `bytes` to the bytes that the current phase waits for.
  void expect(uint64_t address, uint64_t bytes, const Access &);
  /// Returns whether the phase of this parity is complete; if so, adds to the thread what the arrived threads knew.
  bool wait(uint64_t address, unsigned parity, const Access &);

  /// Returns the event of a copy that is issued now and counts its bytes at the mbarrier. Returns nothing, with a
  /// fault, if there is no such mbarrier or the async proxy may not use it yet.
  std::optional<Event> beginCopy(uint64_t address, const Access &);
  /// Counts `bytes` of the copy, which have arrived.
  void complete(uint64_t address, uint64_t bytes, Event copy, const Access &);

  /// Returns a text such as "phase 3 of the mbarrier at 64, which lacks 1 of 2 arrivals and 4096 bytes".
  std::string describe(uint64_t address, unsigned parity) const;
  /// Returns how often any mbarrier has changed.
  uint64_t changes() const { return changed; }

private:
  struct Object {
    uint64_t expected = 1, pending = 1;
    int64_t bytes = 0; // expected and not yet copied
    uint32_t phase = 0;
    Knowledge gathered, complete; // from the arrivals in the current phase; from the arrivals in earlier phases
    Agent agent = 0;              // of the copies; its time is 1 + the phase in which they complete
    Event initialised;
    bool fenced = false;
  };
  /// Returns the mbarrier at an address; null, with a fault, if there is none.
  Object *find(uint64_t address, const Access &);
  /// Returns whether the current phase lacks `count` arrivals; notes a fault if not.
  bool lacks(const Object &, uint64_t count, uint64_t address, const Access &);
  void finishPhase(Object &);

  std::map<uint64_t, Object> objects;
  size_t sharedBytes;
  BlockClocks &clocks;
  AccessHistory &history;
  Report &report;
  uint64_t changed = 0;
};

} // namespace skewer::gpu
