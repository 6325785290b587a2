// The parts of schedules that a request may give instead of leaving them to the cost model ("pins"). The compiler and
// the commands check them before they compile.
#pragma once
#include "passes/Cpu/Schedule/CostModel.h"
#include "passes/Schedule/GpuMachine.h"

namespace skewer {

/// The names of the parts, as messages list them.
constexpr const char *kCpuScheduleParts =
    "tile_rows, tile_vectors, row_block, key_block, rows_per_item, keys_per_item, strategyN";
constexpr const char *kGpuScheduleParts = "rows, keys, stages, queries, columns, warp_rows, key_parts, engine, copies";

/// Checks that the given parts belong to the kind of target; returns false after an error.
bool checkPins(const CpuRequest &, const gpu::GpuRequest &, bool forProcessor, bool forGpu);

} // namespace skewer
