// A helper of the Decode files for steps that each lane of a warp runs for itself.
#pragma once
#include "codegen/GPU/Interpreter/Program.h"
#include <optional>

namespace skewer::gpu {

/// Makes the step run f(warp, lane) for each running lane; with a predicate, only for lanes whose predicate is 1.
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
