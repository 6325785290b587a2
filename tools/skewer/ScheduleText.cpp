// Lists the parts of schedules that --schedule sets, and parses their values.
#include "tools/skewer/ScheduleText.h"
#include "codegen/Compiler/Compiler.h"
#include "passes/Gpu/Shape/GpuShape.h"
#include "tools/skewer/OptionTexts.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <set>

namespace skewer::driver {

bool readSchedule(llvm::ArrayRef<std::string> list, CpuRequest &cpu, gpu::GpuRequest &gpu) {
  const std::pair<const char *, int64_t *> numbers[] = {{"tile_rows", &cpu.tileRows},
                                                        {"tile_vectors", &cpu.tileVectors},
                                                        {"row_block", &cpu.rowBlock},
                                                        {"key_block", &cpu.keyBlock},
                                                        {"rows_per_item", &cpu.rowsPerItem},
                                                        {"keys_per_item", &cpu.keysPerItem},
                                                        {"rows", &gpu.rows},
                                                        {"keys", &gpu.keys},
                                                        {"stages", &gpu.stages},
                                                        {"columns", &gpu.columns},
                                                        {"warp_rows", &gpu.warpRows},
                                                        {"key_parts", &gpu.keyParts}};
  std::set<std::string> given;
  for (const std::string &text : list) {
    std::string name;
    llvm::StringRef value;
    if (!split("--schedule", text, name, value))
      return false;
    if (!given.insert(name).second)
      return usage(fmt::format("--schedule {} is given twice", name));
    if (name == "queries") {
      if (value != "registers" && value != "shared")
        return usage(fmt::format("--schedule queries: expected registers or shared, found '{}'", value.str()));
      gpu.keepQueries = value == "registers";
      continue;
    }
    if (name == "engine") {
      gpu.engine = value.str();
      continue;
    }
    if (name == "copies") {
      if (value != gpu::kCpAsync && value != gpu::kTma)
        return usage(fmt::format("--schedule copies: expected cp_async or tma, found '{}'", value.str()));
      gpu.copies = value.str();
      continue;
    }
    if (name == "offsets") {
      return usage(fmt::format("--schedule offsets: a strategy is set for one term; write strategyN={}, where N is the "
                               "number of the term in the list of explain",
                               value.str()));
    }
    if (llvm::StringRef term = name; term.consume_front("strategy")) {
      int32_t place;
      if (term.getAsInteger(10, place) || place <= 0)
        return usage(
            fmt::format("--schedule {}: expected strategy1, strategy2, … for the terms that explain lists", name));
      cpu.strategies[place] = value.str();
      continue;
    }
    const auto *part = llvm::find_if(numbers, [&](const auto &known) { return name == known.first; });
    if (part == std::end(numbers))
      return usage(fmt::format("--schedule: unknown part '{}'; known: {} (processors), {} (GPUs)", name,
                               kCpuScheduleParts, kGpuScheduleParts));
    int32_t number;
    if (value.getAsInteger(10, number) || number <= 0)
      return usage(fmt::format("--schedule {}: expected a positive number below 2^31, found '{}'", name, value.str()));
    *part->second = number;
  }
  return true;
}

bool checkSchedule(const Options &options, bool forProcessor, bool forGpu) {
  return checkPins(options.cpuSchedule, options.gpu.schedule, forProcessor, forGpu);
}

} // namespace skewer::driver
