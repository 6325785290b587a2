// The numbers of a machine file: names, units and valid ranges.
#include "passes/Schedule/Machine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <fmt/format.h>

using namespace skewer;

llvm::ArrayRef<MachineField> skewer::machineFields() {
  // The range of lanes is that of #attn.cpu_schedule. The other ranges leave room for future machines, but reject wrong
  // units: a rate in GB/s instead of bytes per cycle, a clock in MHz, a cache in KiB.
  static const MachineField fields[] = {
      {{"lanes", "f32", 4, 16, true, /*isPowerOfTwo=*/true}, &Target::lanes},
      {{"registers", "registers", 8, 64}, &Target::registers},
      {{"fma_rate", "vectors/cycle", 0.25, 8}, &Target::fmaPerCycle},
      {{"own_add_rate", "vectors/cycle", 0, 8}, &Target::addPerCycle},
      {{"fma_latency", "cycles", 1, 32}, &Target::fmaLatency},
      {{"bf16_dot_rate", "vectors/cycle", 0, 8}, &Target::bf16DotsPerCycle, /*isOptional=*/true},
      {{"int8_dot_rate", "vectors/cycle", 0, 8}, &Target::int8DotsPerCycle, /*isOptional=*/true},
      {{"amx_rate", "steps/cycle", 0, 8}, &Target::tileStepsPerCycle, /*isOptional=*/true},
      {{"load_rate", "vectors/cycle", 0.25, 8}, &Target::loadsPerCycle},
      {{"l1_size", "bytes", 4 << 10, 16 << 20}, &Target::l1Bytes},
      {{"l2_size", "bytes", 32 << 10, 1 << 30}, &Target::l2Bytes},
      {{"l2_rate", "bytes/cycle", 0.5, 512}, &Target::l2Rate},
      {{"l3_rate", "bytes/cycle", 0.1, 512}, &Target::l3Rate},
      {{"exposed_traffic", "share", 0, 1}, &Target::exposedTraffic},
      {{"gather_cost", "cycles/element", 0.05, 100}, &Target::gatherCycles},
      {{"clock", "GHz", 0.1, 10}, &Target::gigahertz},
      {{"memory_rate", "GB/s", 0.01, 1000}, &Target::memoryRate},
  };
  return fields;
}

bool NumberForm::holds(double number) const {
  bool isInside = std::isinf(most) ? number > 0 && std::isfinite(number) : number >= least && number <= most;
  return isInside && (!isWhole || std::floor(number) == number) &&
         (!isPowerOfTwo || llvm::isPowerOf2_64(static_cast<uint64_t>(number)));
}

std::string NumberForm::range() const {
  llvm::StringRef kind = isPowerOfTwo ? "power of two" : isWhole ? "whole number" : "number";
  return std::isinf(most) ? "a positive " + kind.str() : fmt::format("a {} from {} to {}", kind.str(), least, most);
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
