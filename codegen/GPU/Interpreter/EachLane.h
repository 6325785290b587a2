// Steps that each lane of a warp makes for itself.
#pragma once
#include "codegen/GPU/Interpreter/Program.h"
#include <optional>

namespace skewer::gpu {

/// Makes the step run f(warp, lane) for each lane, or for those whose predicate is 1 where there is one.
template <typename F> void forEachLane(Decoder &decoder, mlir::Value predicate, Step &step, F f) {
  std::optional<unsigned> only;
  if (predicate)
    only = decoder.slots(predicate).first;
  step.run = [=](Warp &warp) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.runs(lane) && (!only || (warp.registers[*only][lane] & 1)))
        f(warp, lane);
  };
}

} // namespace skewer::gpu
