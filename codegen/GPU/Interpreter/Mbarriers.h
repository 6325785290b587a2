// The mbarriers of a block. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
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
  /// fence.mbarrier_init: what the thread has initialised may be used by copies, after fence.proxy.async.
  void fenceInit(unsigned thread);
  void arrive(uint64_t address, uint64_t count, const Access &);
  /// Adds to the bytes that the current phase waits for.
  void expect(uint64_t address, uint64_t bytes, const Access &);
  /// Returns whether the phase of this parity is complete; then the thread knows what those that arrived know.
  bool wait(uint64_t address, unsigned parity, const Access &);

  /// The event of a copy that is issued now and counts its bytes at the mbarrier. Nothing, with a fault, if there is
  /// no such mbarrier or the async proxy may not use it yet.
  std::optional<Event> beginCopy(uint64_t address, const Access &);
  /// `bytes` of the copy have arrived.
  void complete(uint64_t address, uint64_t bytes, Event copy, const Access &);

  /// "phase 3 of the mbarrier at 64, which lacks 1 of 2 arrivals and 4096 bytes".
  std::string describe(uint64_t address, unsigned parity) const;
  /// How often any of them has changed.
  uint64_t changes() const { return changed; }

private:
  struct Object {
    uint64_t expected = 1, pending = 1;
    int64_t bytes = 0; // expected, and not yet copied
    uint32_t phase = 0;
    Knowledge gathered, complete; // of those that arrived; of those before the current phase
    Agent agent = 0;              // of copies: its time is 1 + the phase in which they complete
    Event initialised;
    bool fenced = false;
  };
  /// The mbarrier, or null with a fault.
  Object *find(uint64_t address, const Access &);
  void finishPhase(Object &);

  std::map<uint64_t, Object> objects;
  size_t sharedBytes;
  BlockClocks &clocks;
  AccessHistory &history;
  Report &report;
  uint64_t changed = 0;
};

} // namespace skewer::gpu
