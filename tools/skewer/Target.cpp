// `skewer target`: lists, prints and measures machine files.
#include "codegen/Compiler/Compiler.h"
#include "passes/Schedule/GpuMachine.h"
#include "passes/Schedule/Machine.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Probe.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace skewer::driver {

/// Returns a size such as "48 KiB".
static std::string sizeOf(int64_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

static void listMachines() {
  printed() << fmt::format("{:<15} {:>5} {:>9} {:>4} {:>4} {:>7} {:>8}  {:<27}  {}\n", "name", "lanes", "registers",
                           "FMA", "add", "L1", "L2", "numbers from", "what it is");
  std::vector<Machine> machines{hostMachine()};
  llvm::append_range(machines, knownMachines());
  for (const Machine &machine : machines) {
    const Target &target = machine.target;
    printed() << fmt::format("{:<15} {:>5} {:>9} {:>4} {:>4} {:>7} {:>8}  {:<27}  {}\n", target.name, target.lanes,
                             target.registers, target.fmaPerCycle,
                             target.separateAdd() ? fmt::format("{}", target.addPerCycle) : "-", sizeOf(target.l1Bytes),
                             sizeOf(target.l2Bytes), machine.origin, machine.about);
  }
  printed() << "\nFMA: vectors a cycle. add: additions a cycle on pipes of their own. 'skewer target NAME' prints "
               "all numbers, with their sources;\nof GPUs:";
  for (const gpu::GpuMachine &machine : gpu::knownGpuMachines())
    printed() << " " << machine.target;
  printed() << ".\n";
}

/// Returns the file that describes a GPU target; nothing if there is none.
static std::optional<std::string> gpuTextNamed(const std::string &name) {
  for (const MachineText &known : gpu::gpuMachineTexts()) {
    auto description = gpu::parseGpuDescription(known.text, known.name);
    if (!description)
      llvm::consumeError(description.takeError());
    else if (llvm::is_contained(description->targets, name))
      return std::string(known.text);
  }
  return std::nullopt;
}

/// Returns the text of a machine; nothing after a message.
static std::optional<std::string> textNamed(const std::string &name) {
  for (const MachineText &known : machineTexts())
    if (name == known.name)
      return known.text;
  if (name == "host")
    return textOf(hostMachine());
  if (auto text = gpuTextNamed(name))
    return text;
  if (TargetName parts(name); !parts.usesTiles) {
    sayError(fmt::format("expected the name of a target or a machine file, found '{}'; its file is that of '{}' with an "
                         "amx_rate of 0",
                         name, parts.machine.str()));
    return std::nullopt;
  }
  if (!isMachineFile(name)) { // the error of targetNamed lists the known names
    targetNamed(name);
    return std::nullopt;
  }
  auto machine = readMachineFile(name);
  if (machine)
    return textOf(*machine);
  sayError(machine.takeError());
  return std::nullopt;
}

static std::string probedText() {
  Machine machine = hostMachine();
  auto today = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  std::string when = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(today)));
  std::vector<std::string> notes;
  apply(machine, probe(machine), when, notes);
  apply(machine, {probeTraffic(machine)}, when, notes);
  for (const std::string &note : notes)
    sayNote(note);
  // The name becomes part of symbols; "host" stays the name of the description that is not measured.
  machine.target.name = machine.target.cpu + "-probed";
  machine.origin = "measured by --probe on " + when;
  return textOf(machine);
}

int target(const Options &options) {
  if (!options.probe && options.machine.empty()) {
    listMachines();
    return kDone;
  }
  std::optional<std::string> text = options.probe ? probedText() : textNamed(options.machine);
  if (!text)
    return isMachineFile(options.machine) ? kWrong : kUsage;
  if (options.machineFile.empty()) {
    printed() << *text;
    return kDone;
  }
  if (llvm::Error error = writeFiles({{options.machineFile, *text}})) {
    sayError(std::move(error));
    return kWrong;
  }
  return kDone;
}

} // namespace skewer::driver
