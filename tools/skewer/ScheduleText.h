// The parts of schedules that --schedule may pin.
#pragma once
#include "tools/skewer/Options.h"

namespace skewer::driver {

/// NAME=VALUE of each text, none of them twice, of a processor's schedule or a GPU's. False after a usage error.
bool readSchedule(llvm::ArrayRef<std::string> list, CpuRequest &, gpu::GpuRequest &);
/// Whether the parts that are asked for are those of what code is made for; false after a usage error.
bool checkSchedule(const Options &, bool forProcessor, bool forGpu);

} // namespace skewer::driver
