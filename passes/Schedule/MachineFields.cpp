// The numbers of a machine file: names, units and valid ranges.
#include "passes/Schedule/Machine.h"
#include "llvm/Support/ErrorHandling.h"
#include <fmt/format.h>

using namespace skewer;

llvm::ArrayRef<MachineField> skewer::machineFields() {
  // The range of lanes is that of #attn.cpu_schedule. The other ranges leave room for future machines, but reject wrong
  // units: a rate in GB/s instead of bytes per cycle, a clock in MHz, a cache in KiB.
  static const MachineField fields[] = {
      {"lanes", "f32", 4, 16, &Target::lanes, nullptr, true},
      {"registers", "registers", 8, 64, &Target::registers, nullptr},
      {"fma_rate", "vectors/cycle", 0.25, 8, nullptr, &Target::fmaPerCycle},
      {"own_add_rate", "vectors/cycle", 0, 8, nullptr, &Target::addPerCycle},
      {"fma_latency", "cycles", 1, 32, nullptr, &Target::fmaLatency},
      {"bf16_dot_rate", "vectors/cycle", 0, 8, nullptr, &Target::bf16DotsPerCycle, false, true},
      {"load_rate", "vectors/cycle", 0.25, 8, nullptr, &Target::loadsPerCycle},
      {"l1_size", "bytes", 4 << 10, 16 << 20, &Target::l1Bytes, nullptr},
      {"l2_size", "bytes", 32 << 10, 1 << 30, &Target::l2Bytes, nullptr},
      {"l2_rate", "bytes/cycle", 0.5, 512, nullptr, &Target::l2Rate},
      {"l3_rate", "bytes/cycle", 0.1, 512, nullptr, &Target::l3Rate},
      {"exposed_traffic", "share", 0, 1, nullptr, &Target::exposedTraffic},
      {"gather_cost", "cycles/element", 0.05, 100, nullptr, &Target::gatherCycles},
      {"clock", "GHz", 0.1, 10, nullptr, &Target::gigahertz},
      {"memory_rate", "GB/s", 0.01, 1000, nullptr, &Target::memoryRate},
  };
  return fields;
}

void MachineField::set(Target &target, double value) const {
  if (count)
    target.*count = static_cast<int64_t>(value);
  else
    target.*rate = value;
}

std::string MachineField::range() const {
  return fmt::format("a {} from {} to {}",
                     isPowerOfTwo ? "power of two"
                     : count      ? "whole number"
                                  : "number",
                     least, most);
}

void Machine::set(llvm::StringRef field, double value, std::string source) {
  for (auto [number, known] : llvm::enumerate(machineFields()))
    if (known.name == field) {
      known.set(target, value);
      sources[number] = std::move(source);
      return;
    }
  llvm_unreachable("no field of a machine file");
}
