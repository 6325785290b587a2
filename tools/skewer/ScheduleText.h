// Parses the parts of schedules that --schedule sets, and checks them against the target, for all commands that
// compile.
#pragma once
#include "tools/skewer/Options.h"

namespace skewer::driver {

/// Reads NAME=VALUE from each text, for a processor's or a GPU's schedule; no name may occur twice. Returns false after
/// a usage error.
bool readSchedule(llvm::ArrayRef<std::string> list, CpuRequest &, gpu::GpuRequest &);
/// Checks that the requested parts belong to the kind of target; returns false after a usage error.
bool checkSchedule(const Options &, bool forProcessor, bool forGpu);

} // namespace skewer::driver
