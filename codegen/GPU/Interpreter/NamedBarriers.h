// The 16 barriers of a block that bar.sync and bar.arrive use. PTX ISA, "bar, barrier".
#pragma once
#include "codegen/GPU/Interpreter/Clocks.h"
#include "codegen/GPU/Interpreter/Machine.h"
#include <array>

namespace skewer::gpu {

class NamedBarriers {
public:
  NamedBarriers(unsigned warps, BlockClocks &clocks, Report &report) : states(warps), clocks(clocks), report(report) {}

  /// A warp comes to `bar.sync id, threads`, or comes again to see whether it may go on. Returns whether it may.
  bool sync(const Warp &, uint64_t id, uint64_t threads);
  void arrive(const Warp &, uint64_t id, uint64_t threads);
  /// "barrier 1, where 128 of 256 threads have come".
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
