// Finds targets: the processors that come with Skewer, and those of machine files.
#include "passes/Schedule/Target.h"
#include "passes/Schedule/Machine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <algorithm>

using namespace skewer;

/// Returns the place of a target in lists: the defaults come first, rarely used targets last.
static int rankOf(llvm::StringRef name) {
  return name == "x86-64-v3" ? 0 : name == "x86-64-v4" ? 1 : name == "x86-64-v2" ? 3 : 2;
}

/// Parses the machine files that come with Skewer. The tests read all of them, so none can have errors.
static std::vector<Machine> makeMachines() {
  std::vector<Machine> machines;
  for (const MachineText &file : machineTexts()) {
    auto machine = parseMachine(file.text, std::string(file.name) + ".json", /*forCode=*/false);
    if (!machine)
      llvm::report_fatal_error(machine.takeError(), /*gen_crash_diag=*/false);
    machines.push_back(std::move(*machine));
  }
  std::sort(machines.begin(), machines.end(), [](const Machine &a, const Machine &b) {
    return std::pair(rankOf(a.target.name), a.target.name) < std::pair(rankOf(b.target.name), b.target.name);
  });
  return machines;
}

llvm::ArrayRef<Machine> skewer::knownMachines() {
  static const std::vector<Machine> machines = makeMachines();
  return machines;
}

llvm::ArrayRef<Target> skewer::knownTargets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> described;
    for (const Machine &machine : knownMachines())
      described.push_back(machine.target);
    return described;
  }();
  return targets;
}

static constexpr llvm::StringLiteral kWithoutTiles = ":no-amx";

TargetName::TargetName(llvm::StringRef name) : machine(name), usesTiles(!machine.consume_back(kWithoutTiles)) {}

Target skewer::withoutTiles(Target target) {
  target.tileStepsPerCycle = 0;
  if (TargetName(target.spelling()).usesTiles)
    target.file = target.spelling() + kWithoutTiles.str();
  return target;
}

llvm::Expected<Target> skewer::readTarget(llvm::StringRef name) {
  if (TargetName parts(name); !parts.usesTiles) {
    auto whole = readTarget(parts.machine);
    return whole ? llvm::Expected<Target>(withoutTiles(std::move(*whole))) : std::move(whole);
  }
  if (isMachineFile(name)) {
    auto machine = readMachineFile(name);
    if (!machine)
      return machine.takeError();
    return std::move(machine->target);
  }
  if (name == "host")
    return hostTarget();
  for (const Target &target : knownTargets())
    if (name == target.name)
      return target;
  return llvm::createStringError("unknown target '" + name + "'");
}

std::string skewer::messageOf(llvm::Error error) {
  std::string text;
  llvm::handleAllErrors(
      std::move(error), [&](const MachineError &wrong) { text = wrong.place() + ": " + wrong.message; },
      [&](const llvm::ErrorInfoBase &other) { text = other.message(); });
  return text;
}

std::optional<Target> skewer::findTarget(llvm::StringRef name) { return llvm::expectedToOptional(readTarget(name)); }

Target skewer::hostTarget() { return hostMachine().target; }

bool skewer::hasFeature(const Target &target, llvm::StringRef feature) {
  llvm::SmallVector<llvm::StringRef> said, ofCpu;
  llvm::StringRef(target.features).split(said, ',', -1, false);
  for (llvm::StringRef one : llvm::reverse(said)) // the last mention of a feature counts
    if (one.drop_front() == feature)
      return one.starts_with("+");
  if (llvm::X86::parseArchX86(target.cpu) == llvm::X86::CK_None)
    return false;
  llvm::X86::getFeaturesForCPU(target.cpu, ofCpu);
  return llvm::is_contained(ofCpu, feature);
}

bool skewer::emulatesTiles(const Target &target) {
  return target.tileStepsPerCycle > 0 && !(hasFeature(target, "amx-tile") && hasFeature(target, "amx-bf16"));
}
