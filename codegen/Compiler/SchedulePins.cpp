// Checks that the given parts of schedules belong to the kind of the targets.
#include "codegen/Compiler/SchedulePins.h"
#include "codegen/Compiler/Messages.h"
#include <fmt/format.h>

bool skewer::checkPins(const CpuRequest &cpu, const gpu::GpuRequest &gpu, bool forProcessor, bool forGpu) {
  if (gpu.pinsTile() && !forGpu) {
    sayError(fmt::format("--schedule: {} are parts of a GPU's schedule, and --target names no GPU; a processor's has {}",
                         kGpuScheduleParts, kCpuScheduleParts));
    return false;
  }
  if (cpu.pins() && !forProcessor) {
    sayError(
        fmt::format("--schedule: {} are parts of a processor's schedule, and --target names GPUs alone; a GPU's has {}",
                    kCpuScheduleParts, kGpuScheduleParts));
    return false;
  }
  return true;
}
