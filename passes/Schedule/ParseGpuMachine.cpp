// Reads the machine files of GPUs.
#include "passes/Schedule/GpuMachine.h"
#include "passes/Schedule/MachineReader.h"

using namespace skewer;
using namespace skewer::gpu;
namespace json = llvm::json;

llvm::ArrayRef<GpuMachineField> skewer::gpu::gpuMachineFields() {
  using M = GpuMachine;
  static const GpuMachineField fields[] = {{{"shared_size", "bytes"}, &M::sharedBytes},
                                           {{"block_shared_size", "bytes"}, &M::blockSharedBytes},
                                           {{"warps", "warps"}, &M::warps},
                                           {{"blocks", "blocks"}, &M::blocks},
                                           {{"registers", "registers"}, &M::registers},
                                           {{"special_rate", "results/cycle"}, &M::specials},
                                           {{"fma_rate", "results/cycle"}, &M::floats},
                                           {{"alu_rate", "results/cycle"}, &M::integers},
                                           {{"issue_rate", "results/cycle"}, &M::issued},
                                           {{"shared_rate", "bytes/cycle"}, &M::sharedTraffic},
                                           {{"l2_rate", "bytes/cycle"}, &M::l2Traffic},
                                           {{"step_latency", "cycles"}, &M::stepLatency}};
  return fields;
}

/// Returns the numbers of a device in the order of the file.
static llvm::ArrayRef<NumberField<GpuDevice>> deviceFields() {
  static const NumberField<GpuDevice> fields[] = {{{"processors", "multiprocessors"}, &GpuDevice::processors},
                                                  {{"clock", "GHz"}, &GpuDevice::gigahertz},
                                                  {{"memory_rate", "GB/s"}, &GpuDevice::memoryRate}};
  return fields;
}

static bool readNumbers(MachineReader &reader, const json::Object &object, GpuMachine &machine) {
  if (!reader.readNumbers(object, gpuMachineFields(), machine))
    return false;
  const json::Object *engines = object.getObject("engines");
  if (!engines || engines->empty())
    return reader.failAt("engines", "engines: expected an object of rates");
  for (const auto &engine : *engines) {
    auto rate = reader.readNumber(*engines, engine.first, {"rate", "FLOP/cycle"}, "engines.");
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
      if (member.first != "name" && llvm::none_of(deviceFields(), [&](const NumberForm &form) {
            return llvm::StringRef(member.first) == form.name;
          }))
        return reader.failAt(above + member.first.str(), "unknown field '" + above + member.first.str() + "'",
                             /*atKey=*/true);
    if (!reader.readText(*one, "name", device.name, /*isNeeded=*/true, above) ||
        !reader.readNumbers(*one, deviceFields(), device, above))
      return false;
    result.devices.push_back(std::move(device));
  }
  return true;
}

llvm::Expected<GpuDescription> skewer::gpu::parseGpuDescription(llvm::StringRef text, llvm::StringRef file) {
  MachineReader reader(text, file);
  GpuDescription result;
  const json::Object *object = reader.open({"about", "targets", "engines", "devices"}, gpuMachineFields());
  if (!object || !readNumbers(reader, *object, result.machine) || !readTargets(reader, result) ||
      !readDevices(reader, *object, result))
    return reader.takeError();
  return result;
}
