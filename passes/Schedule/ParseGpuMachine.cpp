// Reads the machine files of GPUs.
#include "passes/Schedule/GpuMachine.h"
#include "passes/Schedule/MachineReader.h"
#include <cmath>

using namespace skewer;
using namespace skewer::gpu;
namespace json = llvm::json;

llvm::ArrayRef<GpuMachineField> skewer::gpu::gpuMachineFields() {
  using M = GpuMachine;
  static const GpuMachineField fields[] = {{"shared_size", "bytes", &M::sharedBytes, nullptr},
                                           {"block_shared_size", "bytes", &M::blockSharedBytes, nullptr},
                                           {"warps", "warps", &M::warps, nullptr},
                                           {"blocks", "blocks", &M::blocks, nullptr},
                                           {"registers", "registers", &M::registers, nullptr},
                                           {"special_rate", "results/cycle", nullptr, &M::specials},
                                           {"fma_rate", "results/cycle", nullptr, &M::floats},
                                           {"alu_rate", "results/cycle", nullptr, &M::integers},
                                           {"issue_rate", "results/cycle", nullptr, &M::issued},
                                           {"shared_rate", "bytes/cycle", nullptr, &M::sharedTraffic},
                                           {"l2_rate", "bytes/cycle", nullptr, &M::l2Traffic},
                                           {"step_latency", "cycles", nullptr, &M::stepLatency}};
  return fields;
}

/// Reads a positive number.
static std::optional<double> readPositive(MachineReader &reader, const json::Object &in, const std::string &path,
                                          llvm::StringRef unit, bool isWhole = false) {
  auto isValid = [&](double number) {
    return std::isfinite(number) && number > 0 && (!isWhole || std::floor(number) == number);
  };
  return reader.readNumber(in, {path, unit, isWhole ? "a positive whole number" : "a positive number", isValid});
}

static bool readNumbers(MachineReader &reader, const json::Object &object, GpuMachine &machine) {
  for (const GpuMachineField &field : gpuMachineFields()) {
    auto number = readPositive(reader, object, field.name.str(), field.unit, field.count != nullptr);
    if (!number)
      return false;
    if (field.count)
      machine.*field.count = static_cast<int64_t>(*number);
    else
      machine.*field.rate = *number;
  }
  const json::Object *engines = object.getObject("engines");
  if (!engines || engines->empty())
    return reader.failAt("engines", "engines: expected an object of rates");
  for (const auto &engine : *engines) {
    auto rate = readPositive(reader, *engines, "engines." + engine.first.str(), "FLOP/cycle");
    if (!rate)
      return false;
    machine.engines.push_back({engine.first.str(), *rate});
  }
  return true;
}

static bool readTargets(MachineReader &reader, GpuDescription &result) {
  if (!reader.readTexts("targets", "names like \"sm_80\"", result.targets))
    return false;
  bool known = !result.targets.empty() &&
               llvm::all_of(result.targets, [](llvm::StringRef name) { return name.starts_with("sm_"); });
  return known || reader.failAt("targets", "targets: expected a list of names like \"sm_80\"");
}

static bool readDevices(MachineReader &reader, const json::Object &object, GpuDescription &result) {
  const json::Array *devices = object.getArray("devices");
  if (!devices)
    return reader.failAt("devices", "devices: expected a list of objects");
  for (const auto &[number, entry] : llvm::enumerate(*devices)) {
    std::string above = "devices[" + std::to_string(number) + "].";
    GpuDevice device;
    const json::Object *one = entry.getAsObject();
    if (!one)
      return reader.failAt("devices",
                           "devices: expected a list of objects, found " + MachineReader::shown(entry) + " in it");
    for (const auto &member : *one)
      if (!llvm::is_contained({"name", "processors", "clock", "memory_rate"}, member.first.str()))
        return reader.failAt(above + member.first.str(), "unknown field '" + above + member.first.str() + "'",
                             /*atKey=*/true);
    if (!reader.readText(*one, "name", device.name, /*isNeeded=*/true, above))
      return false;
    auto processors = readPositive(reader, *one, above + "processors", "multiprocessors", /*isWhole=*/true);
    auto clock = processors ? readPositive(reader, *one, above + "clock", "GHz") : std::nullopt;
    auto memory = clock ? readPositive(reader, *one, above + "memory_rate", "GB/s") : std::nullopt;
    if (!memory)
      return false;
    result.devices.push_back({device.name, static_cast<int64_t>(*processors), *clock, *memory});
  }
  return true;
}

llvm::Expected<GpuDescription> skewer::gpu::parseGpuDescription(llvm::StringRef text, llvm::StringRef file) {
  std::vector<std::string> known{"about", "targets", "engines", "devices"};
  for (const GpuMachineField &field : gpuMachineFields())
    known.push_back(field.name.str());
  MachineReader reader(text, file);
  GpuDescription result;
  const json::Object *object = reader.open(known);
  if (!object || !readNumbers(reader, *object, result.machine) || !readTargets(reader, result) ||
      !readDevices(reader, *object, result))
    return reader.takeError();
  return result;
}
