// Reads the descriptions of GPUs. They come with Skewer, so errors name the path of a member, not its line.
#include "passes/Schedule/GpuMachine.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <fmt/format.h>

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

namespace {

class Parser {
public:
  explicit Parser(llvm::StringRef file) : file(file) {}

  llvm::Expected<GpuDescription> parse(llvm::StringRef text) {
    auto root = json::parse(text);
    if (!root)
      return llvm::createStringError(file + ": " + llvm::toString(root.takeError()));
    GpuDescription result;
    if (!parse(*root, result))
      return llvm::createStringError(file + ": " + message);
    return result;
  }

private:
  bool fail(const llvm::Twine &what) {
    message = what.str();
    return false;
  }

  bool parse(const json::Value &root, GpuDescription &result) {
    const json::Object *object = root.getAsObject();
    if (!object)
      return fail("expected an object of a GPU's fields");
    std::vector<llvm::StringRef> known{"about", "targets", "engines", "devices"};
    for (const GpuMachineField &field : gpuMachineFields())
      known.push_back(field.name);
    if (!hasOnly(*object, known, ""))
      return false;
    for (const GpuMachineField &field : gpuMachineFields()) {
      auto number = quantity(*object, field.name, field.unit, "", field.count != nullptr);
      if (!number)
        return false;
      if (field.count)
        result.machine.*field.count = static_cast<int64_t>(*number);
      else
        result.machine.*field.rate = *number;
    }
    return parseTargets(*object, result) && parseEngines(*object, result) && parseDevices(*object, result);
  }

  bool hasOnly(const json::Object &object, llvm::ArrayRef<llvm::StringRef> known, const std::string &path) {
    for (const auto &member : object)
      if (!llvm::is_contained(known, llvm::StringRef(member.first)))
        return fail("unknown field '" + path + member.first.str() + "'");
    return true;
  }

  /// Reads a positive number, {"value": …, "unit": "…", "source": "…"}; returns nothing after an error.
  std::optional<double> quantity(const json::Object &in, llvm::StringRef name, llvm::StringRef unit,
                                 const std::string &path, bool isWhole) {
    std::string at = path + name.str();
    const json::Object *parts = in.getObject(name);
    std::string form = R"({"value": …, "unit": ")" + unit.str() + R"(", "source": "…"})";
    if (!parts)
      return fail("'" + at + "' is missing: expected " + form), std::nullopt;
    if (!hasOnly(*parts, {"value", "unit", "source"}, at + "."))
      return std::nullopt;
    auto number = parts->getNumber("value");
    if (!number || !std::isfinite(*number) || *number <= 0 || (isWhole && std::floor(*number) != *number))
      return fail(at + ": expected a positive " + (isWhole ? "whole " : "") + "number"), std::nullopt;
    if (parts->getString("unit").value_or("") != unit)
      return fail(at + ": expected the unit \"" + unit + "\""), std::nullopt;
    if (parts->getString("source").value_or("").trim().empty())
      return fail(at + ": expected a text that says where the value comes from"), std::nullopt;
    return number;
  }

  bool parseTargets(const json::Object &object, GpuDescription &result) {
    const json::Array *names = object.getArray("targets");
    if (!names || names->empty())
      return fail("'targets' is missing: expected a list of names like \"sm_80\"");
    for (const json::Value &name : *names) {
      auto text = name.getAsString();
      if (!text || !text->starts_with("sm_"))
        return fail("targets: expected names like \"sm_80\"");
      result.targets.push_back(text->str());
    }
    return true;
  }

  bool parseEngines(const json::Object &object, GpuDescription &result) {
    const json::Object *engines = object.getObject("engines");
    if (!engines || engines->empty())
      return fail("'engines' is missing: expected an object of rates");
    for (const auto &engine : *engines) {
      auto rate = quantity(*engines, engine.first, "FLOP/cycle", "engines.", /*isWhole=*/false);
      if (!rate)
        return false;
      result.machine.engines.push_back({engine.first.str(), *rate});
    }
    return true;
  }

  bool parseDevices(const json::Object &object, GpuDescription &result) {
    const json::Array *devices = object.getArray("devices");
    if (!devices)
      return fail("'devices' is missing: expected a list");
    for (const auto &[number, entry] : llvm::enumerate(*devices)) {
      std::string path = "devices[" + std::to_string(number) + "].";
      const json::Object *one = entry.getAsObject();
      auto name = one ? one->getString("name") : std::nullopt;
      if (!name)
        return fail("'" + path + "name' is missing: expected a text");
      if (!hasOnly(*one, {"name", "processors", "clock", "memory_rate"}, path))
        return false;
      auto processors = quantity(*one, "processors", "multiprocessors", path, /*isWhole=*/true);
      auto clock = processors ? quantity(*one, "clock", "GHz", path, /*isWhole=*/false) : std::nullopt;
      auto memory = clock ? quantity(*one, "memory_rate", "GB/s", path, /*isWhole=*/false) : std::nullopt;
      if (!memory)
        return false;
      result.devices.push_back({name->str(), static_cast<int64_t>(*processors), *clock, *memory});
    }
    return true;
  }

  llvm::StringRef file;
  std::string message;
};

} // namespace

llvm::Expected<GpuDescription> skewer::gpu::parseGpuDescription(llvm::StringRef text, llvm::StringRef file) {
  return Parser(file).parse(text);
}
