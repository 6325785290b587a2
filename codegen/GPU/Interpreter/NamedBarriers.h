// The 16 barriers of a block that bar.sync and bar.arrive use, for DecodeBarriers.cpp. Each carries the knowledge of
// the threads that come to the threads that wait (Clocks.h). PTX ISA, "bar, barrier".
#pragma once
#include "codegen/GPU/Interpreter/Clocks.h"
#include "codegen/GPU/Interpreter/Machine.h"
#include <array>

namespace skewer::gpu {

class NamedBarriers {
public:
  NamedBarriers(unsigned warps, BlockClocks &clocks, Report &report) : states(warps), clocks(clocks), report(report) {}

  /// Executes `bar.sync id, threads` of a warp, at its first attempt and at each repetition while it waits. Returns
  /// whether the warp may go on.
  bool sync(const Warp &, uint64_t id, uint64_t threads);
  void arrive(const Warp &, uint64_t id, uint64_t threads);
  /// Returns a text such as "barrier 1, where 128 of 256 threads have come".
  std::string describe(uint64_t id) const;
  uint64_t changes() const { return changed; }

private:
  struct Barrier {
    uint64_t threads = 0, arrived = 0; // threads 0: nobody has come
    Knowledge gathered;
    std::vector<unsigned> warps, waiting;
  };
  enum class State { Free, Waits, Released };
  bool come(const Warp &, uint64_t id, uint64_t threads, bool waits);

  std::array<Barrier, 16> barriers;
  std::vector<State> states; // of each warp
  BlockClocks &clocks;
  Report &report;
  uint64_t changed = 0;
};

} // namespace skewer::gpu
