// Finds races in a block's shared memory: records the accesses with vector clocks (Clocks.h). SharedMemory, bulk copies
// and mbarriers report their accesses here in kernels whose warps wait for each other by mbarriers and named barriers,
// or whose copies and products run on their own. A count of whole barriers is not enough there.
#pragma once
#include "codegen/GPU/Interpreter/Clocks.h"
#include "codegen/GPU/Interpreter/Machine.h"
#include "llvm/ADT/SmallVector.h"

namespace skewer::gpu {

class AccessHistory {
public:
  AccessHistory(size_t bytes, BlockClocks &clocks, Report &report)
      : places((bytes + 1) / 2), clocks(clocks), report(report) {}

  /// Record a thread's access through the generic proxy to bytes that exist. A race is noted as a fault.
  void read(uint64_t address, unsigned size, const Access &);
  void write(uint64_t address, unsigned size, const Access &);
  /// Records the issue of a cp.async: the bytes belong to the copy until the thread has waited for its group.
  void beginCopy(uint64_t address, unsigned size, const Access &);
  /// Records that the thread has waited for group `group` of its cp.async, counted from 1.
  void finishCopies(unsigned thread, uint32_t group);
  /// Sets the group that the thread's next cp.async belongs to.
  void setGroup(unsigned thread, uint32_t group);

  /// Record an access through the async proxy by `event`; `visible` is what was known when it was issued. Return false,
  /// with a fault, if the bytes do not exist.
  bool asyncRead(uint64_t address, unsigned size, Event event, const Knowledge &visible, const Access &);
  bool asyncWrite(uint64_t address, unsigned size, Event event, const Knowledge &visible, const Access &);

  /// Marks 8 bytes as an mbarrier, which no other instruction may access, or removes the mark.
  void claim(uint64_t address, bool isBarrier);

private:
  struct Place { // two bytes
    Event writer;
    llvm::SmallVector<Event, 1> readers; // since the last write, one for each agent
    bool isBarrier = false;
  };
  bool exists(uint64_t address, unsigned size, const Access &);
  void noteRead(Place &, uint64_t address, Event, const Knowledge &, bool async, const Access &);
  void noteWrite(Place &, uint64_t address, Event, const Knowledge &, bool async, const Access &);
  void conflict(const char *does, const char *did, Event other, Event self, uint64_t address, const Knowledge &,
                bool async, const Access &);

  std::vector<Place> places;
  std::vector<uint32_t> copyGroups; // the open group of each thread
  BlockClocks &clocks;
  Report &report;
};

} // namespace skewer::gpu
