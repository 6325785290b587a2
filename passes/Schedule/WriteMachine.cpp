// Writes machine files as text: each field on its own line, in the order of `machineFields`.
#include "passes/Schedule/Machine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <fmt/format.h>

using namespace skewer;

static std::string quoted(llvm::StringRef text) {
  return llvm::formatv("{0}", llvm::json::Value(llvm::json::fixUTF8(text))).str();
}

std::string skewer::textOf(const Machine &machine) {
  std::string cpus, text = "{\n";
  for (const std::string &cpu : machine.cpus)
    cpus += (cpus.empty() ? "" : ", ") + quoted(cpu);
  for (auto [name, value] :
       {std::pair("name", machine.target.name), std::pair("about", machine.about), std::pair("origin", machine.origin),
        std::pair("cpu", machine.target.cpu), std::pair("features", machine.target.features)})
    text += fmt::format("  \"{}\": {},\n", name, quoted(value));
  text += fmt::format("  \"cpus\": [{}]", cpus);
  for (auto [number, field] : llvm::enumerate(machineFields()))
    text += fmt::format(",\n  \"{}\": {{\"value\": {}, \"unit\": \"{}\", \"source\": {}}}", field.name.str(),
                        field.of(machine.target), field.unit.str(), quoted(machine.sources[number]));
  return text + "\n}\n";
}
