// Records the accesses to a block's shared memory with vector clocks, for kernels whose warps wait for each other by
// mbarriers and named barriers, and whose copies and products run on their own.
#pragma once
#include "codegen/GPU/Interpreter/Clocks.h"
#include "codegen/GPU/Interpreter/Machine.h"
#include "llvm/ADT/SmallVector.h"

namespace skewer::gpu {

class AccessHistory {
public:
  AccessHistory(size_t bytes, BlockClocks &clocks, Report &report)
      : places((bytes + 1) / 2), clocks(clocks), report(report) {}

  /// A thread's access through the generic proxy, of bytes that exist.
  void read(uint64_t address, unsigned size, const Access &);
  void write(uint64_t address, unsigned size, const Access &);
  /// cp.async: the bytes are the copy's until its group is waited for.
  void beginCopy(uint64_t address, unsigned size, const Access &);
  /// Group `group` of the thread's cp.async (counted from 1) has been waited for.
  void finishCopies(unsigned thread, uint32_t group);
  /// The group that the thread's next cp.async belongs to.
  void setGroup(unsigned thread, uint32_t group);

  /// An access through the async proxy, by `event`, that was issued when `visible` was known. False, with a fault, if
  /// the bytes do not exist.
  bool asyncRead(uint64_t address, unsigned size, Event event, const Knowledge &visible, const Access &);
  bool asyncWrite(uint64_t address, unsigned size, Event event, const Knowledge &visible, const Access &);

  /// The 8 bytes are an mbarrier, which no other instruction may touch, or no longer one.
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
  std::vector<uint32_t> copyGroups; // of each thread, the open one
  BlockClocks &clocks;
  Report &report;
};

} // namespace skewer::gpu
